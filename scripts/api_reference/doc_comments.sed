# SPDX-License-Identifier: Apache-2.0
# Turns the plain comments of a header into Doxygen's, without changing the number of lines.

# The comment that follows the licence describes the file.
1s,^// SPDX.*,/// \\file,
1s,^/\* SPDX.*,/** \\file,
2s,^/\* , * ,

# Dividers and directives to other tools are no documentation.
s, *// NOLINT.*,,
s,^ *(//|/\*) --- .*,,

# Comments before a declaration, and behind one.
/^ \*|^ *\/\/\//b text
/^ *\/\//{
  s,^( *)//,\1///,
  b text
}
/^ *\/\* /{
  s,^( *)/\* ,\1/** ,
  b detached
}
s,([\;\,]) *// (.*),\1 ///< \2,
s,([^ }]) */\* (.*\*/)$,\1 /**< \2,
b

# Markdown takes text as code from four spaces on.
:text
s,^( *///| \*) {3},&    ,

# A comment that an empty line follows belongs to all declarations below it: mark its end.
:detached
$!{
  N
  s,\n$,\n/// \\par ---,
  P
  D
}
