C     The hot phase: six passes over A.
      SUBROUTINE SWEEP
      INCLUDE 'fields.inc'
      INTEGER I, PASS
      DO 20 PASS = 1, 6
         DO 10 I = 1, N
            A(I) = A(I) + 1.0D0
 10      CONTINUE
 20   CONTINUE
      END
