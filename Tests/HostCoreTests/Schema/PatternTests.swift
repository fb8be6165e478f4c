import ApsuleKit
import Testing

@testable import HostCore

@Suite struct PatternTests {
    @Test(arguments: [
        ("", "", true), ("", "abc", true), ("b", "abc", true), ("^b", "abc", false), ("c$", "abc", true),
        ("^$", "", true),
        ("^a|c$", "xc", true), ("^(a|c)$", "xc", false), ("^(?:ab)*$", "ababab", true), ("^(?:ab)*$", "aba", false),
        ("^a{2}$", "aa", true), ("^a{2}$", "aaa", false), ("^a{2,}$", "aaaa", true), ("^a{1,3}$", "aaaa", false),
        ("^a{0}$", "", true), ("^a?b+?c*?$", "bbb", true), ("^[a-c-]+$", "ab-c", true), ("^[^a-c]$", "b", false),
        ("^[^a-c]$", "é", true), (#"^[\]\\^]+$"#, #"]\^"#, true), ("^[]$", "a", false), ("^[^]$", "\n", true),
        ("^.$", "\n", false), ("^.$", "\u{2028}", false), ("^.$", "😀", true), (#"^\d+$"#, "0129", true),
        (#"^\d$"#, "٣", false), (#"^\w+$"#, "aZ_9", true), (#"^\w$"#, "é", false), (#"^\s$"#, "\u{feff}", true),
        (#"^\S$"#, "\u{a0}", false), (#"\bfoo\b"#, "a foo b", true), (#"\bfoo\b"#, "afoo", false),
        (#"^\Boo"#, "oo", false), (#"o\Bo"#, "foo", true), (#"^\x41\u0042\u{43}\cJ\0$"#, "ABC\n\0", true),
        (#"^\ud83d\ude00$"#, "😀", true), (#"^\^\$\.\*\/\-$"#, "^$.*/-", true), ("^(a*)*$", "aaaa", true),
        ("(?:)*x", "x", true), ("^(|a)+$", "aaa", true), ("^(a|b|)$", "", true), ("[a-z]{2,3}[0-9]", "--ab3", true),
        (#"[\d-]x"#, "-x", true), (#"[\b]"#, "\u{8}", true),
    ]) func matches(pattern: String, text: String, expected: Bool) throws {
        #expect(try Pattern(pattern).matches(text) == expected)
    }

    @Test(arguments: [
        "(", ")", "a)", "[", "[a", "[z-a]", #"[\d-z]"#, "*", "a**", "+a", "{1}", "a{", "a{2,1}", "a{x}", "]", "}",
        #"\"#, #"\1"#,
        #"\k<n>"#, "(?=a)", "(?!a)", "(?<=a)", "(?<n>a)", #"\p{L}"#, #"\a"#, #"\x4"#, #"\u123"#, #"\u{110000}"#,
        #"\u{d800}"#,
        #"\01"#, #"\c1"#, "^*", #"\b+"#, "$?", "a{1001}", "(a{100}){100}", "((){1000}){1000}", #"\ud83dx\u{}"#,
    ]) func refused(pattern: String) { #expect(throws: Pattern.Failure.self) { try Pattern(pattern) } }

    @Test func nestingIsBounded() throws {
        let deep = String(repeating: "(", count: 10_000) + String(repeating: ")", count: 10_000)
        #expect(throws: Pattern.Failure.self) { try Pattern(deep) }
        _ = try Pattern(String(repeating: "(", count: 32) + String(repeating: ")", count: 32))
    }

    /// What takes an engine that backtracks for ever.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            "^(a+)+$", "^(a*)*b$", "^(a|a)*$", "^(a|aa)+$", "(a?){30}a{30}$", "^(([a-z])+.)+[A-Z]([a-z])+$",
            "(.*){1,32}[bc]",
        ]) func timeIsBounded(pattern: String) throws
    {
        let compiled = try Pattern(pattern)
        let text = String(repeating: "a", count: Pattern.longestInput - 1) + "!"
        let time = ContinuousClock().measure { _ = compiled.matches(text) }
        #expect(time < .seconds(5))
        let schema = try Schema(["pattern": .string(pattern)])
        #expect(schema.mismatch(in: .string(text + text)) != nil)
    }
}
