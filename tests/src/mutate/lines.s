# An object with a line table of DWARF 5 and one of DWARF 4, and what tells the folder of the second.
f: s_nop 0
 s_nop 1
 s_nop 2
 s_nop 3
 s_endpgm
 .section .debug_line,"",@progbits
 .long end-start
start: .short 5
 .byte 8, 0
 .long program-header
header: .byte 4, 1, 1, -5, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 1
 .uleb128 1, 8, 2
 .asciz "/src"
 .asciz "sub"
 .byte 2
 .uleb128 1, 8, 2, 11, 2
 .asciz "k.cl"
 .byte 0
 .asciz "f.h"
 .byte 1
program: .byte 0, 9, 2
 .quad f
 .byte 4, 0, 3, 2, 1, 2, 1, 1, 2, 1, 4, 1, 3, 0x7f, 1, 2, 2, 0, 1, 1
end:
second: .long end2-start2
start2: .short 4
 .long program2-header2
header2: .byte 4, 1, 1, -5, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1
 .asciz "sub"
 .byte 0
 .asciz "k.cl"
 .byte 0, 0, 0
 .asciz "f.h"
 .byte 1, 0, 0, 0
program2: .byte 0, 9, 2
 .quad f+12
 .byte 3, 2, 1, 2, 1, 1, 0, 1, 1
end2:
 .section .debug_abbrev,"",@progbits
 .uleb128 1, 0x11
 .byte 0
 .uleb128 0x10, 0x17, 0x1b, 8, 0, 0
 .byte 0
 .section .debug_info,"",@progbits
 .long end3-start3
start3: .short 4
 .long 0
 .byte 8
 .uleb128 1
 .long second-.debug_line
 .asciz "/folder"
end3:
