import ApsuleKit
import Foundation
import TestHost
import Testing

@Suite struct TreeTests {
    let bench: FilesBench

    init() throws {
        bench = try FilesBench()
        try bench.makeFolder("tree/inner/deep")
        try bench.put("tree/a", "a")
        try bench.put("tree/inner/deep/b", "bb")
    }

    // MARK: Making

    @Test func foldersAreMadeWithThoseAbove() async throws {
        #expect(try await bench.call("createDirectory", ["path": "x/y/z"]) == true)
        #expect(try await bench.call("createDirectory", ["path": "x/y/z"]) == false)
        #expect(try await bench.call("createDirectory", ["path": "x//y/./w/"]) == true)
        #expect(try await bench.call("createDirectory", ["path": "x/../v"]) == true)
        #expect(try await bench.call("createDirectory", ["path": "."]) == false)
        #expect(bench.names("x/y") == ["w", "z"])
        #expect(bench.status("v").map { $0.st_mode & 0o7777 } == 0o700)
        #expect(await bench.refusal("createDirectory", ["path": "tree/a"]) == "already_exists")
        #expect(await bench.refusal("createDirectory", ["path": "tree/a/b"]) == "not_found")
    }

    // MARK: Removing

    @Test func aFolderGoesAsAWholeOnlyWhenAskedFor() async throws {
        #expect(await bench.refusal("delete", ["path": "tree"]) == "not_empty")
        #expect(bench.text("tree/inner/deep/b") == "bb")
        try bench.link("tree/inner/out", to: "/etc")
        #expect(try await bench.call("delete", ["path": "tree", "recursive": true]) == ["deleted": 6])
        #expect(bench.names().isEmpty)
        #expect(FileManager.default.fileExists(atPath: "/etc/passwd"))
        try bench.makeFolder("empty")
        #expect(try await bench.call("delete", ["path": "empty"]) == ["deleted": 1])
        #expect(await bench.refusal("delete", ["path": "empty"]) == "not_found")
    }

    @Test func theProjectsOwnFolderStays() async throws {
        for path in [".", "./", "tree/..", "tree/../.", "./."] {
            for recursive in [false, true] {
                let arguments: JSON = ["path": .string(path), "recursive": .bool(recursive)]
                #expect(await bench.refusal("delete", arguments) == "not_permitted", "\(path)")
            }
            #expect(await bench.refusal("move", ["source": .string(path), "destination": "x"]) == "not_permitted")
            #expect(await bench.refusal("copy", ["source": "tree", "destination": .string(path)]) == "not_permitted")
        }
        #expect(bench.text("tree/a") == "a")
    }

    // MARK: Moving

    @Test func aMoveReplacesOnlyWhatItIsAskedTo() async throws {
        try bench.put("a", "new")
        #expect(await bench.refusal("move", ["source": "a", "destination": "tree/a"]) == "already_exists")
        #expect(bench.text("tree/a") == "a")
        try await bench.call("move", ["source": "a", "destination": "tree/a", "overwrite": true])
        #expect(bench.text("tree/a") == "new" && bench.status("a") == nil)
        try await bench.call("move", ["source": "tree", "destination": "wood"])
        #expect(bench.text("wood/inner/deep/b") == "bb")
        #expect(await bench.refusal("move", ["source": "tree", "destination": "x"]) == "not_found")
        #expect(await bench.refusal("move", ["source": "wood/a", "destination": "no/a"]) == "not_found")
    }

    @Test func aMoveOntoWhatDoesNotFitIsRefused() async throws {
        try bench.makeFolder("full/x")
        try bench.makeFolder("empty")
        try bench.put("single", "")
        for (source, destination, code) in [
            ("tree", "full", "not_empty"), ("tree", "single", "not_a_directory"), ("tree/a", "full", "is_a_directory"),
            ("tree", "tree/inner/new", "into_itself"), ("tree", "tree/inner", "into_itself"),
        ] {
            let arguments: JSON = ["source": .string(source), "destination": .string(destination), "overwrite": true]
            #expect(await bench.refusal("move", arguments) == code, "\(source) to \(destination)")
        }
        // Onto itself: refused, or nothing to do.
        #expect(await bench.refusal("move", ["source": "tree/a", "destination": "tree/a"]) == "already_exists")
        try await bench.call("move", ["source": "tree/a", "destination": "tree/a", "overwrite": true])
        #expect(bench.text("tree/a") == "a")
        try await bench.call("move", ["source": "tree", "destination": "empty", "overwrite": true])
        #expect(bench.text("empty/a") == "a")
    }

    // MARK: Copying

    @Test func filesAndTreesAreCopied() async throws {
        #expect(chmod("\(bench.root)/tree/a", 0o644) == 0)
        #expect(
            try await bench.call("copy", ["source": "tree/a", "destination": "a"]) == ["copied": 1, "size": 1])
        #expect(bench.text("a") == "a" && bench.status("a").map { $0.st_mode & 0o777 } == 0o600)
        #expect(
            try await bench.call("copy", ["source": "tree", "destination": "wood"]) == ["copied": 5, "size": 3])
        #expect(bench.text("wood/inner/deep/b") == "bb" && bench.text("tree/inner/deep/b") == "bb")
        #expect(bench.status("wood/inner").map { $0.st_mode & 0o777 } == 0o700)
        try await bench.call("createDirectory", ["path": "bare"])
        #expect(try await bench.call("copy", ["source": "bare", "destination": "wood/bare"])["copied"] == 1)
    }

    @Test func aCopyReplacesOnlyWhatItIsAskedTo() async throws {
        try bench.put("a", "new")
        #expect(await bench.refusal("copy", ["source": "a", "destination": "tree/a"]) == "already_exists")
        try await bench.call("copy", ["source": "a", "destination": "tree/a", "overwrite": true])
        #expect(bench.text("tree/a") == "new")
        // Onto itself.
        #expect(await bench.refusal("copy", ["source": "a", "destination": "./a"]) == "already_exists")
        try await bench.call("copy", ["source": "a", "destination": "./a", "overwrite": true])
        #expect(bench.text("a") == "new")
        for overwrite in [false, true] {
            for destination in ["tree", "a", "tree/inner"] {
                let arguments: JSON = [
                    "source": "tree", "destination": .string(destination), "overwrite": .bool(overwrite),
                ]
                #expect(await bench.refusal("copy", arguments) == "already_exists", "\(destination)")
            }
        }
        #expect(
            await bench.refusal("copy", ["source": "a", "destination": "tree", "overwrite": true]) == "is_a_directory")
    }

    @Test func aFolderIsNotCopiedIntoItself() async throws {
        for destination in ["tree/copy", "tree/inner/deep/copy"] {
            let arguments: JSON = ["source": "tree", "destination": .string(destination)]
            #expect(await bench.refusal("copy", arguments) == "into_itself")
        }
        #expect(await bench.refusal("copy", ["source": ".", "destination": "tree/copy"]) == "into_itself")
        #expect(bench.names("tree") == ["a", "inner"] && bench.names("tree/inner/deep") == ["b"])
    }

    @Test func aTreeWithWhatIsNoFileIsNotCopied() async throws {
        for name in ["fifo", "link", "socket"] {
            let path = "\(bench.root)/tree/inner/\(name)"
            switch name {
            case "fifo": #expect(mkfifo(path, 0o600) == 0)
            case "socket": #expect(mknod(path, S_IFSOCK | 0o600, 0) == 0)
            default: try bench.link("tree/inner/link", to: "deep")
            }
            #expect(await bench.refusal("copy", ["source": "tree", "destination": "copy"]) == "not_a_file")
            #expect(bench.names() == ["tree"])
            #expect(unlink(path) == 0)
        }
    }

    // MARK: Limits

    @Test func whatIsTooDeepIsRefused() async throws {
        // One after another, since together they are no path any more.
        var path = "\(bench.root)/deep"
        #expect(mkdir(path, 0o700) == 0)
        for _ in 0..<135 {
            path += "/d"
            #expect(mkdir(path, 0o700) == 0)
        }
        #expect(await bench.refusal("copy", ["source": "deep", "destination": "copy"]) == "too_deep")
        #expect(bench.names() == ["deep", "tree"])
        #expect(await bench.refusal("delete", ["path": "deep", "recursive": true]) == "too_deep")
        let half = "deep" + String(repeating: "/d", count: 70)
        try await bench.call("delete", ["path": .string(half), "recursive": true])
        #expect(try await bench.call("delete", ["path": "deep", "recursive": true]) == ["deleted": 70])
    }

    @Test func aCancelledCopyLeavesNothing() async throws {
        for name in ["large", "tree/large"] {
            #expect(FileManager.default.createFile(atPath: "\(bench.root)/\(name)", contents: nil))
            #expect(truncate("\(bench.root)/\(name)", 1 << 40) == 0)
        }
        for source in ["large", "tree"] {
            let call = bench.host.start("copy", ["source": .string(source), "destination": "copy"])
            try await Task.sleep(for: .milliseconds(50))
            call.cancel()
            #expect(await failure { try await call.answer() }?.code == "host.cancelled")
        }
        #expect(bench.names() == ["large", "tree"])
        #expect(bench.host.violations.isEmpty)
    }

    @Test func aCancelledDeleteStops() async throws {
        for folder in 0..<40 {
            try bench.makeFolder("many/\(folder)")
            for file in 0..<250 { #expect(mknod("\(bench.root)/many/\(folder)/\(file)", S_IFREG | 0o600, 0) == 0) }
        }
        let call = bench.host.start("delete", ["path": "many", "recursive": true])
        call.cancel()
        try await Task.sleep(for: .milliseconds(2))
        call.cancel()
        #expect(await failure { try await call.answer() }?.code == "host.cancelled")
        #expect(!bench.names("many").isEmpty)
        try await bench.call("delete", ["path": "many", "recursive": true])
        #expect(bench.names() == ["tree"])
    }
}
