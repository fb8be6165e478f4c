import ApsuleKit
import Testing

@testable import HostCore

/// What a descriptor must not say, and how it is told.
@Suite struct DescriptorTests {
    private static let sound: JSON = [
        "apsule": 1, "family": "gadget", "version": "1.0.0", "summary": "Gadgets.",
        "permission": ["name": "network", "scopes": ["hosts"]],
        "operations": [
            "get": [
                "summary": "Gets.", "redact": ["arguments.token"],
                "arguments": [
                    "type": "object",
                    "properties": [
                        "token": ["type": "string", "maxLength": 4], "name": ["type": "string", "maxLength": 4],
                    ],
                ],
            ],
            "watch": ["summary": "Watches.", "kind": "stream", "events": ["tick": ["type": "object"]]],
        ],
    ]

    private func refusal(_ json: JSON) -> HostError? {
        do throws(HostError) {
            _ = try Descriptor(json, file: "gadget.json")
            return nil
        } catch {
            return error
        }
    }

    @Test func aSoundOneIsRead() throws {
        #expect(refusal(Self.sound) == nil)
        #expect(try Descriptor(Self.sound).operations.map(\.fullName) == ["gadget.get", "gadget.watch"])
    }

    /// A plugin for another ABI is told from a broken one, and no code of it runs.
    @Test(arguments: [0, 2, 99]) func anotherABIIsSaidToBeOne(abi: Int64) {
        var json = Self.sound
        json.set("apsule", .int(abi))
        let error = refusal(json)
        #expect(error?.code == "plugin.abi_mismatch")
        #expect(error?.details["host"] == 1 && error?.details["plugin"] == .int(abi))
    }

    /// Whatever is wrong is said with its file, key, value and rule.
    @Test(
        arguments: [
            ("version", nil), ("version", "2.1h"), ("version", "1.0"), ("version", 1), ("version", "1.0.0.0"),
            ("summary", nil),
            ("family", "Gadget"), ("family", "plugin"), ("family", "a"), ("family", "a-b"), ("family", nil),
            ("operations", [:]), ("operations", []), ("operations", nil), ("process", "thread"), ("colour", "red"),
            ("apsule", "1"), ("apsule", nil), ("permission", 7),
        ] as [(String, JSON?)])
    func aBadValueIsNamed(key: String, value: JSON?) {
        var json = Self.sound
        json.set(key, value)
        let error = refusal(json)
        #expect(error?.code == "descriptor.invalid")
        #expect(error?.details["file"] == "gadget.json")
        #expect(error?.details["key"]?.stringValue?.hasPrefix(key) == true, "\(error?.details ?? .null)")
        #expect(error?.details["rule"]?.stringValue?.isEmpty == false)
        if let value, value.members == nil { #expect(error?.details["value"] == value) }
    }

    @Test(
        arguments: [
            ("then", ["summary": "x"]), ("a.constructor", ["summary": "x"]), ("__proto__", ["summary": "x"]),
            ("get.more", ["summary": "x"]), ("", ["summary": "x"]), ("a..b", ["summary": "x"]),
            ("1a", ["summary": "x"]),
            ("b", [:]), ("b", 1), ("b", ["summary": "x", "kind": "feed"]), ("b", ["summary": "x", "colour": "red"]),
            ("b", ["summary": "x", "events": ["tick": [:]]]), ("b", ["summary": "x", "final": ["type": "object"]]),
            ("b", ["summary": "x", "kind": "stream", "events": ["end": [:]]]),
            ("b", ["summary": "x", "kind": "stream", "inline": true]),
            ("b", ["summary": "x", "kind": "stream", "handle": ["id": "i", "methods": ["cancel": "gadget.get"]]]),
            ("b", ["summary": "x", "positional": ["nothing"]]),
            ("b", ["summary": "x", "timeout": ["default": 5, "maximum": 1]]),
            ("b", ["summary": "x", "timeout": ["default": -1, "maximum": 1]]),
            ("b", ["summary": "x", "scope": ["devices": ["argument": "id"]]]),
            ("b", ["summary": "x", "scope": ["hosts": ["argument": "id", "match": "guess"]]]),
            ("b", ["summary": "x", "arguments": ["type": "object", "$ref": "#/x"]]),
            ("b", ["summary": "x", "result": ["type": "nothing"]]),
        ] as [(String, JSON)])
    func aBadOperationIsNamed(name: String, operation: JSON) {
        var json = Self.sound
        json.set("operations", .object((Self.sound["operations"]?.members ?? []) + [.init(name, operation)]))
        let error = refusal(json)
        #expect(error?.code == "descriptor.invalid")
        #expect(error?.message.contains("operations") == true, "\(error?.message ?? "")")
    }

    /// An argument that is a secret is not quoted to whoever reads the error.
    @Test func secretsAreNotQuoted() throws {
        let get = try #require(try Descriptor(Self.sound).operation("get"))
        for (key, isSecret) in [("token", true), ("name", false)] {
            let arguments = JSON.object([.init(key, "hunter2!")])
            let mismatch = try #require(get.arguments.mismatch(in: arguments))
            let error = get.error(for: mismatch)
            #expect(error.code == "host.invalid_argument")
            #expect("\(error.json.text)".contains("hunter2") == !isSecret)
        }
    }
}
