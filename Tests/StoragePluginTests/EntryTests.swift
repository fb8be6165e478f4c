import ApsuleKit
import StoragePlugin
import TestHost
import Testing

@Suite struct EntryTests {
    let host: TestHost
    init() throws { host = try TestHost("storage", StoragePlugin.entry) }

    private func reopened() throws -> TestHost {
        host.close()
        return try TestHost("storage", StoragePlugin.entry, project: host.project)
    }

    static let keys = [
        "", "a", "\0", "a\0", "a\0b", "__proto__", "constructor", "😀", "é", "e\u{301}", "$blob",
        "'; DROP TABLE entries; --",
        "%", "\u{10ffff}", "\u{fffe}", String(repeating: "k", count: 1024),
    ]

    /// Every key is its own, also those that Swift or a collation would take for one another.
    @Test func anyTextIsAKey() async throws {
        for (index, key) in Self.keys.enumerated() {
            try await host.call("set", ["key": .string(key), "value": .int(Int64(index))])
        }
        let host = try reopened()
        for (index, key) in Self.keys.enumerated() {
            #expect(try await host.call("get", ["key": .string(key)]) == .int(Int64(index)))
        }
        let listed = try await host.call("list")["keys"]?.arrayValue?.compactMap(\.stringValue)
        let bytewise = Self.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        #expect(listed?.map { Array($0.utf8) } == bytewise.map { Array($0.utf8) })
    }

    @Test(
        arguments: [
            .null, true, 0, .int(.min), .int(.max), 9_007_199_254_740_993, 0.1, .double(-0.0),
            .double(.leastNonzeroMagnitude), "",
            "\0\u{1f}\"\\",
            "😀", [], [[], [nil]], [:], ["b": 1, "a": 2, "": nil], ["__proto__": ["x": 1]],
        ] as [JSON])
    func anyValueComesBackExactly(_ value: JSON) async throws {
        #expect(try await host.call("set", ["key": "k", "value": value]) == .null)
        #expect(try await host.call("get", ["key": "k"]) == value)
        #expect(try await reopened().call("get", ["key": "k"]) == value)
    }

    @Test func nothingIsNull() async throws {
        #expect(try await host.call("get", ["key": "k"]) == .null)
        #expect(try await host.call("list") == ["keys": [], "cursor": nil])
        #expect(try await host.call("delete", ["key": "k"]) == false)
        try await host.call("set", ["key": "k", "value": nil])
        #expect(try await host.call("list")["keys"] == ["k"])
    }

    @Test func aValueIsReplacedAndRemoved() async throws {
        try await host.call("set", ["key": "k", "value": 1])
        try await host.call("set", ["key": "k", "value": [2]])
        #expect(try await host.call("get", ["key": "k"]) == [2])
        #expect(try await host.call("delete", ["key": "k"]) == true)
        #expect(try await host.call("delete", ["key": "k"]) == false)
        #expect(try await host.call("get", ["key": "k"]) == .null)
    }

    @Test func projectsDoNotSeeEachOther() async throws {
        let other = try TestHost("storage", StoragePlugin.entry)
        try await host.call("set", ["key": "k", "value": 1])
        #expect(try await other.call("get", ["key": "k"]) == .null)
    }

    /// On their way, keys that start with `$` have one more of it; nothing stored can turn into binary data.
    @Test func storedKeysForgeNoBinaryData() async throws {
        let value: JSON = ["$$blob": 0, "a": [["$$$x": 1, "b$": 2]]]
        try await host.call("set", ["key": "k", "value": value])
        #expect(try await host.call("get", ["key": "k"]) == value)
        #expect(try await host.call("list", ["values": true])["entries"] == [["key": "k", "value": value]])
        try await host.call("set", ["key": "k", "value": ["$x": 1]])
        #expect(try await host.call("get", ["key": "k"]) == ["$$x": 1])
    }

    @Test func binaryDataIsRefused() async throws {
        for value in [["$blob": 0], ["a": [["$blob": 0]]]] as [JSON] {
            let call = host.start("set", ["key": "k", "value": value], blobs: [[1]])
            let error = await failure { try await call.answer() }
            #expect(error?.code == "host.invalid_argument" && error?.details["path"] == "value")
        }
        #expect(try await host.call("get", ["key": "k"]) == .null)
    }

    @Test func sizesAreBounded() async throws {
        let long = String(repeating: "ä", count: 513)
        for (operation, further) in [("get", nil), ("delete", nil), ("set", 1)] as [(String, JSON?)] {
            var arguments: JSON = ["key": .string(long)]
            arguments.set("value", further)
            let error = await failure { try await host.call(operation, arguments) }
            #expect(error?.code == "storage.key_too_long")
            #expect(error?.details == ["size": 1026, "limit": 1024])
        }
        let largest = JSON.string(String(repeating: "x", count: 4 << 20 - 2))
        try await host.call("set", ["key": "k", "value": largest])
        let larger = JSON.string(String(repeating: "x", count: 4 << 20 - 1))
        let error = await failure { try await host.call("set", ["key": "k", "value": larger]) }
        #expect(error?.code == "storage.value_too_large")
        #expect(error?.details == ["size": .int(4 << 20 + 1), "limit": .int(4 << 20)])
        #expect(try await host.call("get", ["key": "k"]) == largest)
    }
}
