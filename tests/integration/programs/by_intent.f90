! Calls the functions of allocation by intent from Fortran; prints their results and the place of the data.
program by_intent
  use, intrinsic :: iso_c_binding, only: c_associated, c_f_pointer, c_null_char, c_ptr, c_size_t
  use terrace
  implicit none
  integer(c_size_t), parameter :: bytes = 16 * 1048576
  double precision, allocatable :: there(:), later(:)
  double precision, pointer :: own(:)
  type(c_ptr) :: block
  character(len=40) :: place

  allocate(there(bytes / 8))
  there = 1
  print '(a,i0)', 'apply ', terrace_apply(there, bytes, 'bandwidth  ')
  call terrace_where(there(bytes / 16), place)
  print '(a,l1,1x,f9.0)', 'known ', place /= '', sum(there)

  block = terrace_alloc(bytes, 'latency' // c_null_char)
  call c_f_pointer(block, own, [bytes / 8])
  print '(a,f4.1)', 'zeros ', sum(own)
  own = 2
  call terrace_where(own, place)
  print '(a,l1)', 'known ', place /= ''
  call terrace_free(block)
  block = terrace_alloc(bytes, 'none' // c_null_char)
  print '(a,l1)', 'unknown ', c_associated(block)

  print '(a,i0)', 'intent ', terrace_intent('capacity')
  allocate(later(bytes / 8))
  later = 3
  call terrace_where(later, place)
  print '(a,l1,1x,f9.0)', 'known ', place /= '', sum(later)
  print '(a,i0,1x,i0)', 'intents ', terrace_intent('fastest'), terrace_intent(' ')
end program
