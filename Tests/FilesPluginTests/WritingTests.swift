import ApsuleKit
import Foundation
import TestHost
import Testing

@Suite struct WritingTests {
    let bench: FilesBench
    init() throws { bench = try FilesBench() }

    @Test func everyFormOfDataIsWritten() async throws {
        #expect(try await bench.call("write", ["path": "a", "data": ["text": "grün"]]) == ["size": 5])
        #expect(bench.text("a") == "grün")
        try await bench.call("write", ["path": "b", "data": ["base64": "aGk="]])
        #expect(bench.text("b") == "hi")
        for data in [["$blob": 0], ["base64": ["$blob": 0]]] as [JSON] {
            try await bench.host.call("write", ["path": "c", "data": data], blobs: [Array("blob".utf8)])
            #expect(bench.text("c") == "blob")
        }
        for name in ["a", "b", "c"] { #expect(bench.status(name).map { $0.st_mode & 0o777 } == 0o600) }
        #expect(bench.names() == ["a", "b", "c"])
    }

    @Test func unclearDataIsRefused() async throws {
        for data in ["text", ["text": "a", "base64": "YQ=="], .object([]), ["base64": "?"]] as [JSON] {
            #expect(await bench.refusal("write", ["path": "a", "data": data]) == "host.invalid_argument")
        }
        #expect(bench.names().isEmpty)
    }

    @Test func aFileIsKeptWhereItMustNotBeReplaced() async throws {
        try bench.put("a", "old")
        let arguments: JSON = ["path": "a", "data": ["text": "new"], "overwrite": false]
        #expect(await bench.refusal("write", arguments) == "already_exists")
        #expect(bench.text("a") == "old")
        try await bench.call("write", ["path": "b", "data": ["text": "new"], "overwrite": false])
        #expect(bench.text("b") == "new")
    }

    @Test func appendingAddsToTheEnd() async throws {
        for (text, size) in [("one ", 4), ("two", 7)] as [(String, Int64)] {
            let answer = try await bench.call("write", ["path": "a", "data": ["text": .string(text)], "append": true])
            #expect(answer == ["size": .int(size)])
        }
        #expect(bench.text("a") == "one two")
        #expect(bench.status("a").map { $0.st_mode & 0o777 } == 0o600)
        let both: JSON = ["path": "a", "data": ["text": "x"], "append": true, "overwrite": false]
        #expect(await bench.refusal("write", both) == "host.invalid_argument")
    }

    @Test func manyAppendersLoseNothing() async throws {
        let calls = (0..<64).map { index in
            let line = String(repeating: "\(index % 10)", count: 1000) + "\n"
            return bench.host.start("write", ["path": "log", "data": ["text": .string(line)], "append": true])
        }
        for call in calls { _ = try await call.answer() }
        let lines = try #require(bench.text("log")).split(separator: "\n")
        #expect(lines.count == 64)
        #expect(lines.allSatisfy { $0.count == 1000 && Set($0).count == 1 })
    }

    @Test func whereNoFolderIsNothingIsWritten() async throws {
        try bench.put("file", "")
        try bench.makeFolder("folder")
        for (path, code) in [
            ("missing/a", "not_found"), ("file/a", "not_found"), ("folder", "is_a_directory"), (".", "not_permitted"),
            ("folder/..", "not_permitted"), ("folder/.", "not_permitted"),
        ] {
            for append in [false, true] where !(append && path == "folder") {
                let arguments: JSON = ["path": .string(path), "data": ["text": "x"], "append": .bool(append)]
                #expect(await bench.refusal("write", arguments) == code, "\(path)")
            }
        }
        let append: JSON = ["path": "folder", "data": ["text": "x"], "append": true]
        #expect(await bench.refusal("write", append) == "is_a_directory")
        #expect(bench.names() == ["file", "folder"])
    }

    @Test func twoWritersAtOnceLeaveOneWholeFile() async throws {
        let processes = try (0..<2).map { _ in try PluginProcess("files", bench.project) }
        let texts = ["a", "b"].map { String(repeating: $0, count: 300_000) }
        for _ in 0..<20 {
            for (process, text) in zip(processes, texts) {
                try process.send("write", ["path": "shared", "data": ["text": .string(text)]])
            }
            for process in processes { #expect(try await process.next()?["result"] == ["size": 300_000]) }
            let found = bench.text("shared")
            #expect(found == texts[0] || found == texts[1])
        }
        #expect(bench.names() == ["shared"])
    }

    @Test func aKillLeavesTheOldFileOrTheNewOne() async throws {
        let texts = ["old", "new"].map { String(repeating: $0, count: 400_000) }
        try await bench.call("write", ["path": "a", "data": ["text": .string(texts[0])]])
        for round in 0..<12 {
            let process = try PluginProcess("files", bench.project)
            // It is up once it answers.
            try await process.call("list")
            try process.send("write", ["path": "a", "data": ["text": .string(texts[(round + 1) % 2])]])
            try await Task.sleep(for: .microseconds(round * 1_500))
            process.kill()
            let found = bench.text("a")
            #expect(found == texts[0] || found == texts[1])
            // It may have a second name for the moment between two calls of the system, and no other rest.
            #expect(bench.names().filter { !$0.hasPrefix(".apsule-") } == ["a"])
        }
    }

    @Test(.enabled(if: SmallDisk.isPossible, "needs a mount namespace"))
    func aFullDiskLosesNothing() async throws {
        let process = try PluginProcess("files", bench.project, wrapper: SmallDisk.command(over: bench.root))
        let old = JSON.string(String(repeating: "o", count: 250_000))
        try await process.call("write", ["path": "a", "data": ["text": old]])
        let large = JSON.string(String(repeating: "n", count: 300_000))
        for append in [false, true] {
            let error = await failure {
                try await process.call("write", ["path": "a", "data": ["text": large], "append": .bool(append)])
            }
            #expect(error?.code == "files.full")
            #expect(try await process.call("read", ["path": "a", "encoding": "text"])["text"] == old)
        }
        #expect(
            await failure { try await process.call("copy", ["source": "a", "destination": "b"]) }?.code == "files.full")
        try await process.call("createDirectory", ["path": "tree"])
        try await process.call(
            "write", ["path": "tree/b", "data": ["text": .string(String(repeating: "t", count: 120_000))]])
        #expect(
            await failure { try await process.call("copy", ["source": "tree", "destination": "copy"]) }?.code
                == "files.full")
        let names = try await process.call("list")["entries"]?.arrayValue?.compactMap { $0["name"]?.stringValue }
        #expect(names == ["a", "tree"])
        try SmallDisk.resize(process, bench.root, to: "2m")
        try await process.call("write", ["path": "a", "data": ["text": large]])
        #expect(try await process.call("read", ["path": "a", "encoding": "text"])["text"] == large)
    }

    @Test func whatTheSystemForbidsIsSaid() async throws {
        // Root's own capabilities would open everything; a worker has none either.
        let wrapper = geteuid() == 0 ? ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] : []
        let process = try PluginProcess("files", bench.project, wrapper: wrapper)
        try bench.put("closed", "secret")
        try bench.makeFolder("folder")
        try bench.put("folder/a", "a")
        #expect(chmod("\(bench.root)/closed", 0) == 0 && chmod("\(bench.root)/folder", 0o500) == 0)
        defer { chmod("\(bench.root)/folder", 0o700) }
        for (operation, arguments) in [
            ("read", ["path": "closed"]), ("write", ["path": "closed", "data": ["text": "x"], "append": true]),
            ("write", ["path": "folder/a", "data": ["text": "x"]]), ("delete", ["path": "folder/a"]),
            ("delete", ["path": "folder", "recursive": true]), ("createDirectory", ["path": "folder/b"]),
            ("move", ["source": "folder/a", "destination": "b"]), ("copy", ["source": "closed", "destination": "b"]),
            ("copy", ["source": "folder", "destination": "folder/b"]),
        ] as [(String, JSON)] {
            #expect(
                await failure { try await process.call(operation, arguments) }?.code == "files.not_permitted",
                "\(operation)")
        }
        #expect(bench.names() == ["closed", "folder"] && bench.names("folder") == ["a"])
        // The old file's mode says nothing about a new one in its place.
        try await process.call("write", ["path": "closed", "data": ["text": "new"]])
        #expect(bench.text("closed") == "new")
    }
}
