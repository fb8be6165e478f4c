import ApsuleKit
import StoragePlugin
import TestHost
import Testing

@Suite struct ListTests {
    let host: TestHost
    init() throws { host = try TestHost("storage", StoragePlugin.entry) }

    private func fill(_ keys: [String]) async throws {
        for key in keys { try await host.call("set", ["key": .string(key), "value": .string(key)]) }
    }

    /// All keys, page by page.
    private func pages(_ arguments: JSON) async throws -> [[String]] {
        var pages: [[String]] = []
        var arguments = arguments
        repeat {
            let page = try await host.call("list", arguments)
            pages.append(page["keys"]?.arrayValue?.compactMap(\.stringValue) ?? [])
            arguments.set("cursor", page["cursor"])
            try #require(pages.count < 100)
        } while arguments["cursor"] != .null
        return pages
    }

    @Test func prefixesAreTakenByTheirBytes() async throws {
        try await fill(["", "a", "a%", "a/1", "a/2", "a\u{10ffff}", "b", "é1", "e\u{301}2"])
        #expect(try await pages(["prefix": "a/"]) == [["a/1", "a/2"]])
        #expect(try await pages(["prefix": "a"]) == [["a", "a%", "a/1", "a/2", "a\u{10ffff}"]])
        #expect(try await pages(["prefix": "é"]) == [["é1"]])
        #expect(try await pages(["prefix": "c"]) == [[]])
        #expect(try await pages([:]).joined().count == 9)
    }

    @Test(arguments: [1, 2, 3, 4, 5, 1000])
    func pagesJoinToTheWhole(_ limit: Int64) async throws {
        let keys = ["x", "y0", "y1", "y2", "y3", "z"]
        try await fill(keys)
        let all = try await pages(["limit": .int(limit)])
        #expect(all.joined().elementsEqual(keys))
        #expect(all.dropLast().allSatisfy { $0.count == limit })
        #expect(try await pages(["limit": .int(limit), "prefix": "y"]).joined().elementsEqual(keys[1...4]))
    }

    @Test func theFirstPageHoldsAHundred() async throws {
        try await fill((0..<101).map { "k\($0)" })
        #expect(try await pages([:]).map(\.count) == [100, 1])
    }

    /// A page goes on behind its last key, also when that key is gone and others have come.
    @Test func cursorsOutliveChanges() async throws {
        try await fill(["a", "b", "c", "d"])
        let cursor = try await host.call("list", ["limit": 2])["cursor"] ?? .null
        try await host.call("delete", ["key": "b"])
        try await fill(["aa", "bb"])
        #expect(try await host.call("list", ["cursor": cursor])["keys"] == ["bb", "c", "d"])
        #expect(try await host.call("list", ["cursor": cursor, "prefix": "c"])["keys"] == ["c"])
        #expect(try await host.call("list", ["cursor": cursor, "prefix": "a"])["keys"] == [])
    }

    @Test func aKeyWithoutBytesHasACursorToo() async throws {
        try await fill(["", "a"])
        let page = try await host.call("list", ["limit": 1])
        #expect(page["keys"] == [""] && page["cursor"] != .null)
        #expect(try await pages(["limit": 1]) == [[""], ["a"]])
    }

    @Test func valuesComeAlong() async throws {
        try await fill(["a", "b"])
        #expect(
            try await host.call("list", ["values": true])["entries"]
                == [["key": "a", "value": "a"], ["key": "b", "value": "b"]])
        #expect(try await host.call("list")["entries"] == nil)
    }

    @Test func aPageOfLargeValuesIsShorter() async throws {
        let megabyte = JSON.string(String(repeating: "x", count: 1 << 20))
        for key in ["a", "b", "c", "d", "e"] { try await host.call("set", ["key": .string(key), "value": megabyte]) }
        let page = try await host.call("list", ["values": true])
        #expect(page["keys"] == ["a", "b", "c"])
        let rest = try await host.call("list", ["values": true, "cursor": page["cursor"] ?? .null])
        #expect(rest["keys"] == ["d", "e"] && rest["cursor"] == .null)
        #expect(try await host.call("list")["keys"]?.arrayValue?.count == 5)
    }

    @Test(arguments: ["x", "Zh==", "not a cursor"])
    func aCursorThatIsNoneIsRefused(_ cursor: String) async throws {
        let error = await failure { try await host.call("list", ["cursor": .string(cursor)]) }
        #expect(error?.code == "host.invalid_argument" && error?.details["path"] == "cursor")
    }
}
