! Keeps a coarse history of a field in an allocatable array: sixteen cells make one bin.
subroutine profile(field, n, total)
  implicit none
  integer, intent(in) :: n
  double precision, intent(in) :: field(n)
  double precision, intent(out) :: total
  double precision, allocatable, save :: bins(:)
  integer :: i

  if (.not. allocated(bins)) then
    allocate (bins(n / 16))
    bins = 0.0d0
  end if
  do i = 1, n / 16
    bins(i) = bins(i) + field(16 * i)
  end do
  total = sum(bins)
end subroutine profile
