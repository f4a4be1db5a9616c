! Arrays by intent (include/terrace/terrace_arrays.F90), of each type and rank. Says what does not hold, and ends with
! "all right". Under `terrace run` the arrays
! are where Terrace knows them.
program arrays_by_intent
  use terrace
  use terrace_arrays
  implicit none
  integer :: wrong = 0
  logical :: active

  active = terrace_active() == 1
  call check_real32()
  call check_real64()
  call check_int32()
  call check_int64()
  call check_complex32()
  call check_complex64()
  call check_large()
  call check_refused()
  call check_allocatable()
  print '(a)', merge('all right', 'wrong    ', wrong == 0)
  if (wrong /= 0) stop 1

contains

  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what

    if (holds) return
    print '(2a)', 'not so: ', what
    wrong = wrong + 1
  end subroutine

  subroutine expect_placed(array, what)
    type(*), dimension(*), intent(in) :: array
    character(len=*), intent(in) :: what
    character(len=40) :: place

    call terrace_where(array, place)
    call expect((place /= ' ') .eqv. active, what)
  end subroutine

  subroutine check_real32()
    real(real32), pointer :: one(:) => null(), two(:, :) => null(), three(:, :, :) => null(), four(:, :, :, :) => null()
    integer :: stat

    call terrace_allocate(one, [1000], 'latency')
    call terrace_allocate(two, [50_int64, 40_int64], 'bandwidth', stat)
    call expect(stat == 0, 'real32: stat')
    call terrace_allocate(three, [3, 4, 5], 'capacity')
    call terrace_allocate(four, [2, 3, 4, 5], 'normal', stat)
    call expect(all(one == 0) .and. all(two == 0) .and. all(three == 0) .and. all(four == 0), 'real32: zeros')
    call expect(size(one) == 1000 .and. all(shape(two) == [50, 40]), 'real32: ranks 1 and 2')
    call expect(all(shape(three) == [3, 4, 5]) .and. all(shape(four) == [2, 3, 4, 5]), 'real32: ranks 3 and 4')
    call expect(all(lbound(four) == 1), 'real32: lower bounds')
    one = 1.5_real32
    two = 1.5_real32
    three = 1.5_real32
    four = 1.5_real32
    call expect(all(one == 1.5_real32) .and. all(two == 1.5_real32), 'real32: values of ranks 1 and 2')
    call expect(all(three == 1.5_real32) .and. all(four == 1.5_real32), 'real32: values of ranks 3 and 4')
    call expect_placed(one, 'real32: where rank 1 is')
    call expect_placed(four, 'real32: where rank 4 is')
    call terrace_deallocate(one)
    call terrace_deallocate(two)
    call terrace_deallocate(three)
    call terrace_deallocate(four)
    call expect(.not. associated(one) .and. .not. associated(four), 'real32: given back')
    call terrace_deallocate(one)
  end subroutine

  subroutine check_real64()
    real(real64), pointer :: one(:) => null(), two(:, :) => null(), three(:, :, :) => null(), four(:, :, :, :) => null()
    integer :: stat

    call terrace_allocate(one, [1000], 'latency')
    call terrace_allocate(two, [50_int64, 40_int64], 'bandwidth', stat)
    call expect(stat == 0, 'real64: stat')
    call terrace_allocate(three, [3, 4, 5], 'capacity')
    call terrace_allocate(four, [2, 3, 4, 5], 'normal', stat)
    call expect(all(one == 0) .and. all(two == 0) .and. all(three == 0) .and. all(four == 0), 'real64: zeros')
    call expect(size(one) == 1000 .and. all(shape(two) == [50, 40]), 'real64: ranks 1 and 2')
    call expect(all(shape(three) == [3, 4, 5]) .and. all(shape(four) == [2, 3, 4, 5]), 'real64: ranks 3 and 4')
    call expect(all(lbound(four) == 1), 'real64: lower bounds')
    one = 2.5_real64
    two = 2.5_real64
    three = 2.5_real64
    four = 2.5_real64
    call expect(all(one == 2.5_real64) .and. all(two == 2.5_real64), 'real64: values of ranks 1 and 2')
    call expect(all(three == 2.5_real64) .and. all(four == 2.5_real64), 'real64: values of ranks 3 and 4')
    call expect_placed(one, 'real64: where rank 1 is')
    call expect_placed(four, 'real64: where rank 4 is')
    call terrace_deallocate(one)
    call terrace_deallocate(two)
    call terrace_deallocate(three)
    call terrace_deallocate(four)
    call expect(.not. associated(one) .and. .not. associated(four), 'real64: given back')
    call terrace_deallocate(one)
  end subroutine

  subroutine check_int32()
    integer(int32), pointer :: one(:) => null(), two(:, :) => null(), three(:, :, :) => null(), four(:, :, :, :) => null()
    integer :: stat

    call terrace_allocate(one, [1000], 'latency')
    call terrace_allocate(two, [50_int64, 40_int64], 'bandwidth', stat)
    call expect(stat == 0, 'int32: stat')
    call terrace_allocate(three, [3, 4, 5], 'capacity')
    call terrace_allocate(four, [2, 3, 4, 5], 'normal', stat)
    call expect(all(one == 0) .and. all(two == 0) .and. all(three == 0) .and. all(four == 0), 'int32: zeros')
    call expect(size(one) == 1000 .and. all(shape(two) == [50, 40]), 'int32: ranks 1 and 2')
    call expect(all(shape(three) == [3, 4, 5]) .and. all(shape(four) == [2, 3, 4, 5]), 'int32: ranks 3 and 4')
    call expect(all(lbound(four) == 1), 'int32: lower bounds')
    one = 7_int32
    two = 7_int32
    three = 7_int32
    four = 7_int32
    call expect(all(one == 7_int32) .and. all(two == 7_int32), 'int32: values of ranks 1 and 2')
    call expect(all(three == 7_int32) .and. all(four == 7_int32), 'int32: values of ranks 3 and 4')
    call expect_placed(one, 'int32: where rank 1 is')
    call expect_placed(four, 'int32: where rank 4 is')
    call terrace_deallocate(one)
    call terrace_deallocate(two)
    call terrace_deallocate(three)
    call terrace_deallocate(four)
    call expect(.not. associated(one) .and. .not. associated(four), 'int32: given back')
    call terrace_deallocate(one)
  end subroutine

  subroutine check_int64()
    integer(int64), pointer :: one(:) => null(), two(:, :) => null(), three(:, :, :) => null(), four(:, :, :, :) => null()
    integer :: stat

    call terrace_allocate(one, [1000], 'latency')
    call terrace_allocate(two, [50_int64, 40_int64], 'bandwidth', stat)
    call expect(stat == 0, 'int64: stat')
    call terrace_allocate(three, [3, 4, 5], 'capacity')
    call terrace_allocate(four, [2, 3, 4, 5], 'normal', stat)
    call expect(all(one == 0) .and. all(two == 0) .and. all(three == 0) .and. all(four == 0), 'int64: zeros')
    call expect(size(one) == 1000 .and. all(shape(two) == [50, 40]), 'int64: ranks 1 and 2')
    call expect(all(shape(three) == [3, 4, 5]) .and. all(shape(four) == [2, 3, 4, 5]), 'int64: ranks 3 and 4')
    call expect(all(lbound(four) == 1), 'int64: lower bounds')
    one = 7000000000_int64
    two = 7000000000_int64
    three = 7000000000_int64
    four = 7000000000_int64
    call expect(all(one == 7000000000_int64) .and. all(two == 7000000000_int64), 'int64: values of ranks 1 and 2')
    call expect(all(three == 7000000000_int64) .and. all(four == 7000000000_int64), 'int64: values of ranks 3 and 4')
    call expect_placed(one, 'int64: where rank 1 is')
    call expect_placed(four, 'int64: where rank 4 is')
    call terrace_deallocate(one)
    call terrace_deallocate(two)
    call terrace_deallocate(three)
    call terrace_deallocate(four)
    call expect(.not. associated(one) .and. .not. associated(four), 'int64: given back')
    call terrace_deallocate(one)
  end subroutine

  subroutine check_complex32()
    complex(real32), pointer :: one(:) => null(), two(:, :) => null(), three(:, :, :) => null(), four(:, :, :, :) => null()
    integer :: stat

    call terrace_allocate(one, [1000], 'latency')
    call terrace_allocate(two, [50_int64, 40_int64], 'bandwidth', stat)
    call expect(stat == 0, 'complex32: stat')
    call terrace_allocate(three, [3, 4, 5], 'capacity')
    call terrace_allocate(four, [2, 3, 4, 5], 'normal', stat)
    call expect(all(one == 0) .and. all(two == 0) .and. all(three == 0) .and. all(four == 0), 'complex32: zeros')
    call expect(size(one) == 1000 .and. all(shape(two) == [50, 40]), 'complex32: ranks 1 and 2')
    call expect(all(shape(three) == [3, 4, 5]) .and. all(shape(four) == [2, 3, 4, 5]), 'complex32: ranks 3 and 4')
    call expect(all(lbound(four) == 1), 'complex32: lower bounds')
    one = (1.0, 2.0)
    two = (1.0, 2.0)
    three = (1.0, 2.0)
    four = (1.0, 2.0)
    call expect(all(one == (1.0, 2.0)) .and. all(two == (1.0, 2.0)), 'complex32: values of ranks 1 and 2')
    call expect(all(three == (1.0, 2.0)) .and. all(four == (1.0, 2.0)), 'complex32: values of ranks 3 and 4')
    call expect_placed(one, 'complex32: where rank 1 is')
    call expect_placed(four, 'complex32: where rank 4 is')
    call terrace_deallocate(one)
    call terrace_deallocate(two)
    call terrace_deallocate(three)
    call terrace_deallocate(four)
    call expect(.not. associated(one) .and. .not. associated(four), 'complex32: given back')
    call terrace_deallocate(one)
  end subroutine

  subroutine check_complex64()
    complex(real64), pointer :: one(:) => null(), two(:, :) => null(), three(:, :, :) => null(), four(:, :, :, :) => null()
    integer :: stat

    call terrace_allocate(one, [1000], 'latency')
    call terrace_allocate(two, [50_int64, 40_int64], 'bandwidth', stat)
    call expect(stat == 0, 'complex64: stat')
    call terrace_allocate(three, [3, 4, 5], 'capacity')
    call terrace_allocate(four, [2, 3, 4, 5], 'normal', stat)
    call expect(all(one == 0) .and. all(two == 0) .and. all(three == 0) .and. all(four == 0), 'complex64: zeros')
    call expect(size(one) == 1000 .and. all(shape(two) == [50, 40]), 'complex64: ranks 1 and 2')
    call expect(all(shape(three) == [3, 4, 5]) .and. all(shape(four) == [2, 3, 4, 5]), 'complex64: ranks 3 and 4')
    call expect(all(lbound(four) == 1), 'complex64: lower bounds')
    one = (1.0d0, 2.0d0)
    two = (1.0d0, 2.0d0)
    three = (1.0d0, 2.0d0)
    four = (1.0d0, 2.0d0)
    call expect(all(one == (1.0d0, 2.0d0)) .and. all(two == (1.0d0, 2.0d0)), 'complex64: values of ranks 1 and 2')
    call expect(all(three == (1.0d0, 2.0d0)) .and. all(four == (1.0d0, 2.0d0)), 'complex64: values of ranks 3 and 4')
    call expect_placed(one, 'complex64: where rank 1 is')
    call expect_placed(four, 'complex64: where rank 4 is')
    call terrace_deallocate(one)
    call terrace_deallocate(two)
    call terrace_deallocate(three)
    call terrace_deallocate(four)
    call expect(.not. associated(one) .and. .not. associated(four), 'complex64: given back')
    call terrace_deallocate(one)
  end subroutine

  subroutine check_large()
    real(real64), pointer :: field(:, :) => null(), none(:) => null()
    integer :: i

    call terrace_allocate(field, [1024, 2048], 'bandwidth')
    do i = 1, 2048
      field(:, i) = i
    end do
    call expect(sum(field) == 1024.0_real64 * 2048 * 2049 / 2, 'a large array')
    call expect_placed(field, 'where a large array is')
    call terrace_deallocate(field)
    call terrace_allocate(none, [0], 'bandwidth')
    call expect(associated(none) .or. size(none) == 0, 'an array without elements')
    call terrace_deallocate(none)
  end subroutine

  subroutine check_refused()
    real(real64), pointer :: field(:, :) => null()
    integer :: stat

    call terrace_allocate(field, [huge(1_int64) / 8, 16_int64], 'bandwidth', stat)
    call expect(stat == terrace_no_memory .and. .not. associated(field), 'more than there is')
    call terrace_allocate(field, [10, 10], 'no such intent', stat)
    call expect((stat == terrace_no_memory) .eqv. active, 'an unknown intent')
    call expect(associated(field) .neqv. active, 'an array by an unknown intent')
    call terrace_deallocate(field)
  end subroutine

  subroutine check_allocatable()
    integer(int32), allocatable :: small(:), large(:)

    call expect((terrace_intent('latency') == terrace_ok) .eqv. active, 'an intent')
    allocate(small(1000), large(4000000))
    call expect((terrace_intent(' ') == terrace_ok) .eqv. active, 'no intent')
    small = 1
    large = 2
    call expect(sum(small) == 1000 .and. sum(large) == 8000000, 'allocatable arrays')
    call expect_placed(small, 'where a small allocatable array is')
    call expect_placed(large, 'where a large allocatable array is')
  end subroutine
end program
