! SPDX-License-Identifier: Apache-2.0
! terrace.f90: declares the Fortran interface (`use terrace`) to terrace.h, with ordinary Fortran strings.
!
! Contains interfaces only: link libterrace. Needs a compiler with Fortran 2018's C
! interoperability (gfortran 12 or newer). A main loop reads:
!
!     use terrace
!     status = terrace_object("u", u, sizeof(u))
!     call terrace_loop_begin("main")
!     do it = 1, niter
!       call terrace_phase("smooth")     ! an iteration begins at each recurrence of its first phase
!       ...
!       call terrace_phase("restrict")
!       ...
!     end do
!     call terrace_loop_end()
!
! Trailing blanks of names are ignored. All procedures may be called at any time; without `terrace` they have no
! effect.
module terrace
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int, c_ptr, c_size_t
  implicit none
  private
  public :: terrace_active, terrace_seconds, terrace_loop_begin, terrace_loop_end, terrace_phase
  public :: terrace_object, terrace_forget, terrace_where
  public :: terrace_value, terrace_refs, terrace_depends
  public :: terrace_alloc, terrace_free, terrace_apply, terrace_intent

  ! Results of terrace_object, terrace_forget, terrace_apply, terrace_intent and the hints, as in terrace.h.
  integer(c_int), parameter, public :: terrace_ok = 0, terrace_invalid = 1, terrace_no_memory = 2
  integer(c_int), parameter, public :: terrace_not_active = 3, terrace_unsupported = 4

  interface
    ! Returns 1 if the program runs under terrace, else 0.
    integer(c_int) function terrace_active() bind(C, name="terrace_active")
      import :: c_int
    end function

    ! Returns the seconds since the program started: virtual seconds under `terrace simulate`.
    real(c_double) function terrace_seconds() bind(C, name="terrace_seconds")
      import :: c_double
    end function

    ! Marks the beginning of the main loop.
    subroutine terrace_loop_begin(name) bind(C, name="terrace_fortran_loop_begin")
      character(len=*), intent(in) :: name
    end subroutine

    ! Marks the end of the main loop.
    subroutine terrace_loop_end() bind(C, name="terrace_loop_end")
    end subroutine

    ! Begins the phase `name` and ends the previous one.
    subroutine terrace_phase(name) bind(C, name="terrace_fortran_phase")
      character(len=*), intent(in) :: name
    end subroutine

    ! Registers `bytes` bytes from the first element of `array` on as an object of their own.
    integer(c_int) function terrace_object(name, array, bytes) bind(C, name="terrace_fortran_object")
      import :: c_int, c_size_t
      character(len=*), intent(in) :: name
      type(*), dimension(*), intent(in) :: array
      integer(c_size_t), value :: bytes
    end function

    ! Defines the variable `name` of expressions.
    integer(c_int) function terrace_value(name, value) bind(C, name="terrace_fortran_value")
      import :: c_double, c_int
      character(len=*), intent(in) :: name
      real(c_double), value :: value
    end function

    ! States how often the program references memory of `object`: "2*nnz*niter".
    integer(c_int) function terrace_refs(object, expression) bind(C, name="terrace_fortran_refs")
      import :: c_int
      character(len=*), intent(in) :: object, expression
    end function

    ! States that the phase uses the object, whatever was observed; with `used` 0, that it does not.
    integer(c_int) function terrace_depends(phase, object, used) bind(C, name="terrace_fortran_depends")
      import :: c_int
      character(len=*), intent(in) :: phase, object
      integer(c_int), value :: used
    end function

    ! Allocates `bytes` bytes by an intent, placed at once, for c_f_pointer. The name ends with c_null_char. Returns
    ! null if there is no such intent or no memory.
    type(c_ptr) function terrace_alloc(bytes, intent_name) bind(C, name="terrace_alloc")
      import :: c_char, c_ptr, c_size_t
      integer(c_size_t), value :: bytes
      character(kind=c_char), dimension(*), intent(in) :: intent_name
    end function

    ! Releases memory of terrace_alloc.
    subroutine terrace_free(address) bind(C, name="terrace_free")
      import :: c_ptr
      type(c_ptr), value :: address
    end subroutine

    ! Places the whole pages of `bytes` bytes from the first element of `array` on by an intent.
    integer(c_int) function terrace_apply(array, bytes, intent_name) bind(C, name="terrace_fortran_apply")
      import :: c_int, c_size_t
      type(*), dimension(*), intent(in) :: array
      integer(c_size_t), value :: bytes
      character(len=*), intent(in) :: intent_name
    end function

    ! Sets the intent of the calling thread's later allocations; blank: the run's intent.
    integer(c_int) function terrace_intent(intent_name) bind(C, name="terrace_fortran_intent")
      import :: c_int
      character(len=*), intent(in) :: intent_name
    end function

    ! Unregisters the object; its memory stays valid.
    integer(c_int) function terrace_forget(array) bind(C, name="terrace_forget")
      import :: c_int
      type(*), dimension(*), intent(in) :: array
    end function

    ! Returns the name of the place of the first element of `array`; blank if unknown.
    subroutine terrace_where(array, place) bind(C, name="terrace_fortran_where")
      type(*), dimension(*), intent(in) :: array
      character(len=*), intent(out) :: place
    end subroutine
  end interface
end module terrace
