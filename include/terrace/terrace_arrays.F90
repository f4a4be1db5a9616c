! SPDX-License-Identifier: Apache-2.0
! terrace_arrays.F90: allocates arrays of Fortran programs by intent, a memory attribute (`use terrace_arrays`):
!
!     use terrace_arrays
!     real(real64), pointer :: field(:, :) => null()
!     call terrace_allocate(field, [n, m], 'bandwidth')
!     ...
!     call terrace_deallocate(field)
!
! for pointers to real(real32), real(real64), integer(int32), integer(int64), complex(real32) and complex(real64) of
! rank 1 to 4. Elements are zero; lower bounds are 1. The shape has 32 or 64 bit integers. `stat` is 0, or
! terrace_no_memory if there is no memory or the machine has no such intent: then the pointer is not associated.
! Without `stat` the program stops, as with allocate. Release an array as a whole, with terrace_deallocate and not
! with deallocate.
!
! Allocatable arrays are placed by the thread's intent at their allocation (module terrace):
!
!     status = terrace_intent('latency')
!     allocate(index(n))
!     status = terrace_intent(' ')
!
! Compile terrace.f90 and this file with the program, by the same compiler. terrace_arrays.inc has the procedures of a
! type.
module terrace_arrays
  use, intrinsic :: iso_c_binding, only: c_associated, c_f_pointer, c_loc, c_null_char, c_ptr, c_size_t
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use terrace, only: terrace_alloc, terrace_free, terrace_no_memory, terrace_ok
  implicit none
  private
  public :: terrace_allocate, terrace_deallocate
  public :: int32, int64, real32, real64, terrace_no_memory

  interface terrace_allocate
    module procedure allocate_real32, allocate_real32_short
    module procedure allocate_real64, allocate_real64_short
    module procedure allocate_int32, allocate_int32_short
    module procedure allocate_int64, allocate_int64_short
    module procedure allocate_complex32, allocate_complex32_short
    module procedure allocate_complex64, allocate_complex64_short
  end interface

  interface terrace_deallocate
    module procedure deallocate_real32
    module procedure deallocate_real64
    module procedure deallocate_int32
    module procedure deallocate_int64
    module procedure deallocate_complex32
    module procedure deallocate_complex64
  end interface

contains

  ! Allocates memory for the elements. Sets `stat`, or stops the program, if that fails.
  type(c_ptr) function memory_for(shape, element_bits, array_rank, intent_name, stat)
    integer(int64), intent(in) :: shape(:)
    integer, intent(in) :: element_bits, array_rank
    character(len=*), intent(in) :: intent_name
    integer, intent(out), optional :: stat
    integer(int64) :: bytes
    integer :: i

    if (size(shape) /= array_rank) error stop 'terrace_allocate: the shape is not one of the array''s rank'
    bytes = element_bits / 8
    if (any(shape <= 0)) bytes = 0
    do i = 1, size(shape)
      if (bytes == 0) exit
      bytes = merge(huge(bytes), bytes * max(shape(i), 1_int64), bytes > huge(bytes) / max(shape(i), 1_int64))
    end do
    memory_for = terrace_alloc(int(max(bytes, 1_int64), c_size_t), trim(intent_name) // c_null_char)
    if (present(stat)) then
      stat = merge(terrace_ok, terrace_no_memory, c_associated(memory_for))
    else if (.not. c_associated(memory_for)) then
      error stop 'terrace_allocate: there is no memory, or no such intent'
    end if
  end function

#define TERRACE_TYPE real(real32)
#define TERRACE_ALLOCATE allocate_real32
#define TERRACE_ALLOCATE_SHORT allocate_real32_short
#define TERRACE_DEALLOCATE deallocate_real32
#include "terrace_arrays.inc"

#define TERRACE_TYPE real(real64)
#define TERRACE_ALLOCATE allocate_real64
#define TERRACE_ALLOCATE_SHORT allocate_real64_short
#define TERRACE_DEALLOCATE deallocate_real64
#include "terrace_arrays.inc"

#define TERRACE_TYPE integer(int32)
#define TERRACE_ALLOCATE allocate_int32
#define TERRACE_ALLOCATE_SHORT allocate_int32_short
#define TERRACE_DEALLOCATE deallocate_int32
#include "terrace_arrays.inc"

#define TERRACE_TYPE integer(int64)
#define TERRACE_ALLOCATE allocate_int64
#define TERRACE_ALLOCATE_SHORT allocate_int64_short
#define TERRACE_DEALLOCATE deallocate_int64
#include "terrace_arrays.inc"

#define TERRACE_TYPE complex(real32)
#define TERRACE_ALLOCATE allocate_complex32
#define TERRACE_ALLOCATE_SHORT allocate_complex32_short
#define TERRACE_DEALLOCATE deallocate_complex32
#include "terrace_arrays.inc"

#define TERRACE_TYPE complex(real64)
#define TERRACE_ALLOCATE allocate_complex64
#define TERRACE_ALLOCATE_SHORT allocate_complex64_short
#define TERRACE_DEALLOCATE deallocate_complex64
#include "terrace_arrays.inc"

end module terrace_arrays
