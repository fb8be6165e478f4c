import ApsuleKit
import Testing

@testable import HostCore

@Suite struct PromptTextTests {
    private func request(
        name: String = "An app", origin: String = "folder:/home/me/app#1@2", title: String = "use gadgets",
        operation: String = "gadget.go", declaration: Declaration = Declaration()
    ) -> PromptRequest {
        PromptRequest(
            projectName: name, identity: ProjectIdentity(id: "com.example.app", origin: origin), permission: "gadget",
            title: title, operation: operation, declaration: declaration)
    }

    @Test(arguments: [
        "\u{1b}[2J", "\r", "\n", "\u{8}", "\u{202e}", "\u{2066}", "\u{200b}", "\u{feff}", "\u{7f}", "\u{9b}",
        "\u{2028}", "\u{e000}", "\u{e0041}",
    ])
    func nothingFromAProjectMovesTheTerminal(_ evil: String) {
        var declaration = Declaration(level: "a\(evil)b")
        declaration.reason = "a\(evil)b"
        declaration.scopes = ["s\(evil)": ["a\(evil)b"]]
        let text = TerminalPrompter.question(
            request(
                name: "a\(evil)b", origin: "folder:/a\(evil)b#1@2", title: "a\(evil)b", operation: "a\(evil)b",
                declaration: declaration))
        let plain = TerminalPrompter.question(
            request(
                name: "ab", origin: "folder:/ab#1@2", title: "ab", operation: "ab",
                declaration: {
                    var declaration = Declaration(level: "ab")
                    declaration.reason = "ab"
                    declaration.scopes = ["s": ["ab"]]
                    return declaration
                }()))
        // The same lines, with the character spelled out.
        #expect(text.split(separator: "\n").count == plain.split(separator: "\n").count)
        let moves = evil.unicodeScalars.first
        #expect(moves == "\n" || !text.unicodeScalars.contains { $0 == moves })
        #expect(text.contains("\\u{"))
    }

    @Test func showsWhatCounts() {
        var declaration = Declaration(level: "write")
        declaration.reason = "to find your watch"
        declaration.scopes = ["services": ["180d", "180f"], "devices": []]
        let text = TerminalPrompter.question(
            request(name: String(repeating: "n", count: 5_000), declaration: declaration))
        for part in [
            "com.example.app", "/home/me/app\n", "gadget.go", "to find your watch", "write", "services: 180d, 180f",
            "devices: none", "[o]nce", "[n]ever",
        ] { #expect(text.contains(part), "\(part)") }
        #expect(text.count < 1_000)
        #expect(!text.contains("#1@2"))
        declaration.scopes = ["services": (0..<500).map { "service \($0)" }]
        let many = TerminalPrompter.question(request(declaration: declaration))
        #expect(many.contains("service 19, and 480 more") && !many.contains("service 20,"))
    }

    @Test func lettersOfAllScriptsStay() {
        #expect(SafeText.escape("Zähler für 体温 και é") == "Zähler für 体温 και é")
        #expect(SafeText.escape("a\u{202e}b") == "a\\u{202e}b")
        #expect(SafeText.escape("aaaa", limit: 2) == "aa…")
    }
}
