; A function that no kernel calls.
define i32 @f(i32 %x) {
  %y = mul i32 %x, %x
  ret i32 %y
}
