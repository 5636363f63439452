//! Where two texts differ, line by line.

/// The lines of both texts in one list: `-` is expected and missing, `+` there and not expected. Cost:
/// quadratic in the lines that differ.
pub fn lines(expected: &str, got: &str) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), got.lines().collect());
    // Length of the longest common part of a[i..] and b[j..].
    let mut common = vec![vec![0u32; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i][j] =
                if a[i] == b[j] { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let mut text = String::new();
    let mut line = |mark: char, line: &str| {
        text.push(mark);
        text.push_str(line);
        text.push('\n');
    };
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            line(' ', a[i]);
            (i, j) = (i + 1, j + 1);
        } else if j == b.len() || i < a.len() && common[i + 1][j] >= common[i][j + 1] {
            line('-', a[i]);
            i += 1;
        } else {
            line('+', b[j]);
            j += 1;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn lines_that_differ_are_marked() {
        assert_eq!(super::lines("a\nb\nc", "a\nx\nc\nd"), " a\n-b\n+x\n c\n+d\n");
    }
}
