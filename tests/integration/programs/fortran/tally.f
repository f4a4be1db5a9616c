C     Keeps a running count by cell in a local array that is SAVEd;
C     T is the sum over it.
      SUBROUTINE TALLY(T)
      INCLUDE 'fields.inc'
      DOUBLE PRECISION T
      DOUBLE PRECISION COUNTS(N)
      INTEGER I
      LOGICAL FIRST
      SAVE COUNTS, FIRST
      DATA FIRST /.TRUE./
      IF (FIRST) THEN
         DO 10 I = 1, N
            COUNTS(I) = 0.0D0
 10      CONTINUE
         FIRST = .FALSE.
      END IF
      T = 0.0D0
      DO 20 I = 1, N
         COUNTS(I) = COUNTS(I) + C(I)
         T = T + COUNTS(I)
 20   CONTINUE
      END
