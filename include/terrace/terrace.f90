! terrace.f90: `use terrace` in Fortran programs. The calls of terrace.h, with ordinary Fortran strings.
!
! Interfaces alone: there is nothing to link but libterrace. Needs a compiler with Fortran 2018's C
! interoperability (gfortran 12 or newer). A main loop reads:
!
!     use terrace
!     status = terrace_object("u", u, sizeof(u))
!     call terrace_loop_begin("main")
!     do it = 1, niter
!       call terrace_phase("smooth")     ! an iteration begins where its first phase comes round again
!       ...
!       call terrace_phase("restrict")
!       ...
!     end do
!     call terrace_loop_end()
!
! Trailing blanks of names do not count. Every call may be made at any time; without `terrace` they do nothing.
module terrace
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int, c_ptr, c_size_t
  implicit none
  private
  public :: terrace_active, terrace_seconds, terrace_loop_begin, terrace_loop_end, terrace_phase
  public :: terrace_object, terrace_forget, terrace_where
  public :: terrace_value, terrace_refs, terrace_depends
  public :: terrace_alloc, terrace_free, terrace_apply, terrace_intent

  ! What terrace_object, terrace_forget, terrace_apply, terrace_intent and the hints return, as in terrace.h.
  integer(c_int), parameter, public :: terrace_ok = 0, terrace_invalid = 1, terrace_no_memory = 2
  integer(c_int), parameter, public :: terrace_not_active = 3, terrace_unsupported = 4

  interface
    ! 1 when the program runs under terrace, else 0.
    integer(c_int) function terrace_active() bind(C, name="terrace_active")
      import :: c_int
    end function

    ! Seconds since the program began: virtual seconds under `terrace simulate`.
    real(c_double) function terrace_seconds() bind(C, name="terrace_seconds")
      import :: c_double
    end function

    ! The main loop begins.
    subroutine terrace_loop_begin(name) bind(C, name="terrace_fortran_loop_begin")
      character(len=*), intent(in) :: name
    end subroutine

    ! The main loop is over.
    subroutine terrace_loop_end() bind(C, name="terrace_loop_end")
    end subroutine

    ! The phase `name` begins, and the one before it ends.
    subroutine terrace_phase(name) bind(C, name="terrace_fortran_phase")
      character(len=*), intent(in) :: name
    end subroutine

    ! `bytes` bytes from the first element of `array` on are an object of their own from now on.
    integer(c_int) function terrace_object(name, array, bytes) bind(C, name="terrace_fortran_object")
      import :: c_int, c_size_t
      character(len=*), intent(in) :: name
      type(*), dimension(*), intent(in) :: array
      integer(c_size_t), value :: bytes
    end function

    ! `name` is worth `value` in expressions.
    integer(c_int) function terrace_value(name, value) bind(C, name="terrace_fortran_value")
      import :: c_double, c_int
      character(len=*), intent(in) :: name
      real(c_double), value :: value
    end function

    ! How often the program refers to memory of `object`: "2*nnz*niter".
    integer(c_int) function terrace_refs(object, expression) bind(C, name="terrace_fortran_refs")
      import :: c_int
      character(len=*), intent(in) :: object, expression
    end function

    ! The phase uses the object, whatever is seen of it; with `used` 0 it does not.
    integer(c_int) function terrace_depends(phase, object, used) bind(C, name="terrace_fortran_depends")
      import :: c_int
      character(len=*), intent(in) :: phase, object
      integer(c_int), value :: used
    end function

    ! `bytes` bytes placed at once by an intent, for c_f_pointer; the name ends with c_null_char. Null where there
    ! is no such intent, or no memory.
    type(c_ptr) function terrace_alloc(bytes, intent_name) bind(C, name="terrace_alloc")
      import :: c_char, c_ptr, c_size_t
      integer(c_size_t), value :: bytes
      character(kind=c_char), dimension(*), intent(in) :: intent_name
    end function

    ! Of terrace_alloc.
    subroutine terrace_free(address) bind(C, name="terrace_free")
      import :: c_ptr
      type(c_ptr), value :: address
    end subroutine

    ! The whole pages of `bytes` bytes from the first element of `array` on are placed by an intent.
    integer(c_int) function terrace_apply(array, bytes, intent_name) bind(C, name="terrace_fortran_apply")
      import :: c_int, c_size_t
      type(*), dimension(*), intent(in) :: array
      integer(c_size_t), value :: bytes
      character(len=*), intent(in) :: intent_name
    end function

    ! What the calling thread allocates from now on is placed by an intent; by the run's if it is blank.
    integer(c_int) function terrace_intent(intent_name) bind(C, name="terrace_fortran_intent")
      import :: c_int
      character(len=*), intent(in) :: intent_name
    end function

    ! The object is no longer of interest; its memory stays valid.
    integer(c_int) function terrace_forget(array) bind(C, name="terrace_forget")
      import :: c_int
      type(*), dimension(*), intent(in) :: array
    end function

    ! The name of the place where the first element of `array` lies; blank when it is not known.
    subroutine terrace_where(array, place) bind(C, name="terrace_fortran_where")
      type(*), dimension(*), intent(in) :: array
      character(len=*), intent(out) :: place
    end subroutine
  end interface
end module terrace
