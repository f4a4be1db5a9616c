! Arrays that are larger than memory: allocate, reallocation on assignment, move_alloc.
!
!   array_data MIB     prints a sum
program array_data
  use, intrinsic :: iso_fortran_env, only: int64
  implicit none
  integer(int64), allocatable :: first(:), second(:), grown(:)
  character(len=16) :: argument
  integer(int64) :: words, i, total
  integer :: round

  call get_command_argument(1, argument)
  read (argument, *) words
  words = words * 1048576_int64 / 8 / 2
  allocate (first(words), second(words))
  do i = 1, words
    first(i) = i
    second(i) = 0
  end do
  do round = 1, 4
    do i = 1, words
      second(i) = second(i) + round * first(i)
    end do
  end do
  total = 0
  do i = 1, words
    total = ieor(total * 31, second(i))
  end do
  deallocate (second)
  allocate (grown(words + words / 2))
  grown(:words) = first
  grown(words + 1:) = 7
  call move_alloc(grown, first)
  first = first + 1
  print '(i0,1x,i0)', total, sum(first)
end program array_data
