import ApsuleKit
import Foundation
import Testing

@Suite struct ListingTests {
    let bench: FilesBench
    init() throws { bench = try FilesBench() }

    private func names(_ answer: JSON) -> [String] {
        answer["entries"]?.arrayValue?.compactMap { $0["name"]?.stringValue } ?? []
    }

    @Test func entriesSayWhatTheyAre() async throws {
        try bench.put("file", "four")
        try bench.makeFolder("folder")
        try bench.link("link", to: "/etc/passwd")
        #expect(mkfifo("\(bench.root)/fifo", 0o600) == 0)
        var times = [timespec(tv_sec: 0, tv_nsec: 0), timespec(tv_sec: 1_700_000_000, tv_nsec: 123_999_999)]
        #expect(utimensat(AT_FDCWD, "\(bench.root)/file", &times, 0) == 0)
        let answer = try await bench.call("list")
        #expect(answer["cursor"] == .null)
        let entries = try #require(answer["entries"]?.arrayValue)
        #expect(entries.map { $0["type"] } == ["other", "file", "directory", "link"])
        #expect(entries[1] == ["name": "file", "type": "file", "size": 4, "modified": 1_700_000_000_123])
        #expect(entries[2]["size"] == nil)
        #expect(try await bench.call("list", ["path": "folder"]) == ["entries": [], "cursor": nil])
    }

    @Test func pagesGoOnWhateverHappens() async throws {
        let all = (0..<25).map { String(format: "%02d", $0) }
        for name in all.shuffled() { try bench.put(name, "") }
        var found: [String] = []
        var cursor = JSON.null
        repeat {
            let page = try await bench.call("list", ["limit": 7, "cursor": cursor])
            found += names(page)
            cursor = page["cursor"] ?? .null
            // The name that the cursor is behind may go.
            if found.count == 7 { #expect(unlink("\(bench.root)/06") == 0) }
        } while cursor != .null
        #expect(found == all)
        #expect(await bench.refusal("list", ["cursor": "?"]) == "host.invalid_argument")
        #expect(await bench.refusal("list", ["cursor": "YQBi"]) == "host.invalid_argument")
    }

    @Test func namesAreTheirBytes() async throws {
        // The same letter, composed and not: two names.
        let composed = "\u{e9}", decomposed = "e\u{301}"
        try bench.put(composed, "composed")
        try bench.put(decomposed, "decomposed")
        let raw: [CChar] = [0x62, -1, 0x63, 0]
        let path = bench.root.utf8CString.dropLast() + [CChar(0x2f)] + raw
        #expect(mknod(path, S_IFREG | 0o600, 0) == 0)
        let entries = try #require(try await bench.call("list")["entries"]?.arrayValue)
        #expect(
            entries.map { Array(($0["name"]?.stringValue ?? "").utf8) } == [
                Array("b\u{fffd}c".utf8), Array(decomposed.utf8), Array(composed.utf8),
            ])
        #expect(entries.map { $0["nameBase64"] } == ["Yv9j", nil, nil])
        #expect(try await bench.call("read", ["path": .string(composed)])["text"] == "composed")
        #expect(try await bench.call("read", ["path": .string(decomposed)])["text"] == "decomposed")
        #expect(await bench.refusal("read", ["path": "b\u{fffd}c"]) == "not_found")
        try await bench.call(
            "move", ["source": .string(composed), "destination": .string(decomposed), "overwrite": true])
        #expect(try await bench.call("read", ["path": .string(decomposed)])["text"] == "composed")
        // What no path names goes with its folder.
        try bench.makeFolder("folder")
        #expect(rename(path, "\(bench.root)/folder/\(composed)") == 0)
        #expect(try await bench.call("delete", ["path": "folder", "recursive": true]) == ["deleted": 2])
    }

    @Test func whatIsNoFolderIsNotListed() async throws {
        try bench.put("file", "")
        #expect(await bench.refusal("list", ["path": "file"]) == "not_a_directory")
        #expect(await bench.refusal("list", ["path": "missing"]) == "not_found")
        #expect(await bench.refusal("list", ["path": "file/a"]) == "not_found")
    }

    @Test func aFolderOfAnySizeIsListed() async throws {
        for index in 0..<3_000 { #expect(mknod("\(bench.root)/\(index)", S_IFREG | 0o600, 0) == 0) }
        let first = try await bench.call("list")
        #expect(names(first).count == 1000)
        #expect(names(first) == names(first).sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) })
        #expect(first["cursor"] != .null)
    }
}
