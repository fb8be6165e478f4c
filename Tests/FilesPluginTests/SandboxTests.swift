import ApsuleKit
import Foundation
import Synchronization
import TestHost
import Testing

/// Whatever is planted or raced: nothing outside of the project's files is read or written.
@Suite struct SandboxTests {
    let bench: FilesBench
    let outside: String

    init() throws {
        bench = try FilesBench()
        outside = try bench.makeOutside()
    }

    /// Every operation on a path, with a file beside it for those that take two.
    private func operations(_ path: String) -> [(String, JSON)] {
        let path = JSON.string(path)
        return [
            ("read", ["path": path]), ("write", ["path": path, "data": ["text": "x"]]),
            ("write", ["path": path, "data": ["text": "x"], "append": true]), ("list", ["path": path]),
            ("delete", ["path": path, "recursive": true]), ("createDirectory", ["path": path]),
            ("move", ["source": path, "destination": "mine"]),
            ("move", ["source": "own", "destination": path, "overwrite": true]),
            ("copy", ["source": path, "destination": "mine"]),
            ("copy", ["source": "own", "destination": path, "overwrite": true]),
        ]
    }

    private func expectUntouched() {
        #expect((try? String(contentsOfFile: outside + "/secret", encoding: .utf8)) == "outside")
        #expect((try? FileManager.default.contentsOfDirectory(atPath: outside)) == ["secret"])
        #expect((try? FileManager.default.contentsOfDirectory(atPath: bench.project.data)) == ["outside"])
    }

    @Test func noPathLeadsOut() async throws {
        try bench.put("own", "own")
        try bench.makeFolder("folder")
        for path in [
            "../data/outside/secret", "folder/../../data/outside/secret", "../files/../data/outside", "../data/new",
            "..",
            outside + "/secret", outside, "/", "//", "/new", bench.root + "/own",
        ] {
            for (operation, arguments) in operations(path) {
                let code = await bench.refusal(operation, arguments)
                #expect(["outside_sandbox", "not_permitted"].contains(code), "\(operation) \(path): \(code ?? "done")")
            }
        }
        expectUntouched()
        #expect(bench.names() == ["folder", "own"] && bench.text("own") == "own")
    }

    @Test func linksThatLeadOutAreNotFollowed() async throws {
        try bench.put("own", "own")
        try bench.link("relative", to: "../data/outside")
        try bench.link("absolute", to: outside)
        try bench.link("file", to: outside + "/secret")
        try bench.link("dangling", to: outside + "/new")
        for path in ["relative/secret", "absolute/secret", "absolute/new", "relative/new/deep"] {
            for (operation, arguments) in operations(path) {
                #expect(await bench.refusal(operation, arguments) == "outside_sandbox", "\(operation) \(path)")
            }
        }
        for path in ["file", "absolute", "dangling"] {
            #expect(await bench.refusal("read", ["path": .string(path)]) == "outside_sandbox")
            #expect(await bench.refusal("list", ["path": .string(path)]) == "outside_sandbox")
            #expect(await bench.refusal("copy", ["source": .string(path), "destination": "c"]) == "outside_sandbox")
            #expect(await bench.refusal("createDirectory", ["path": .string(path)]) == "outside_sandbox")
            let append: JSON = ["path": .string(path), "data": ["text": "x"], "append": true]
            #expect(await bench.refusal("write", append) == "outside_sandbox")
        }
        // The name is the project's: what it led to is nobody's concern.
        try await bench.call("write", ["path": "file", "data": ["text": "mine"]])
        #expect(try await bench.call("delete", ["path": "absolute", "recursive": true]) == ["deleted": 1])
        try await bench.call("move", ["source": "dangling", "destination": "moved"])
        try await bench.call("copy", ["source": "own", "destination": "relative", "overwrite": true])
        #expect(bench.text("file") == "mine" && bench.text("relative") == "own")
        expectUntouched()
    }

    @Test func linksInsideWorkAndLoopsEnd() async throws {
        try bench.makeFolder("folder")
        try bench.put("folder/a", "a")
        try bench.link("short", to: "folder")
        try bench.link("folder/up", to: "../folder/a")
        #expect(try await bench.call("read", ["path": "short/up"])["text"] == "a")
        try await bench.call("write", ["path": "short/b", "data": ["text": "b"]])
        #expect(bench.text("folder/b") == "b")
        try bench.link("loop", to: "pool")
        try bench.link("pool", to: "loop")
        try bench.link("self", to: "self/x")
        for path in ["loop", "self", "loop/x"] {
            #expect(await bench.refusal("read", ["path": .string(path)]) == "outside_sandbox")
        }
        try await bench.call("delete", ["path": "loop"])
        #expect(await bench.refusal("read", ["path": "pool"]) == "not_found")
    }

    @Test func magicLinksAreNotFollowed() async throws {
        for (name, target) in [
            ("root", "/proc/self/root"), ("cwd", "/proc/self/cwd"), ("exe", "/proc/self/exe"),
            ("fd", "/proc/self/fd/0"),
        ] {
            try bench.link(name, to: target)
            for path in [name, name + "/etc/passwd"] {
                #expect(await bench.refusal("read", ["path": .string(path)]) == "outside_sandbox")
                #expect(await bench.refusal("list", ["path": .string(path)]) == "outside_sandbox")
            }
        }
    }

    @Test func namesThatNoFileHasAreRefused() async throws {
        try bench.put("own", "own")
        let longest = String(repeating: "n", count: 255), tooLong = String(repeating: "n", count: 256)
        try await bench.call("write", ["path": .string(longest), "data": ["text": "a"]])
        try await bench.call("write", ["path": .string(longest), "data": ["text": "b"]])
        #expect(try await bench.call("read", ["path": .string(longest)])["text"] == "b")
        for path in [tooLong, "folder/" + tooLong, tooLong + "/a", String(repeating: "p/", count: 2_100) + "a"] {
            for (operation, arguments) in operations(path) {
                let code = await bench.refusal(operation, arguments)
                // Where the folder is missing, that is said first.
                #expect(
                    code == "name_too_long" || code == "not_found" && path.hasPrefix("folder/"),
                    "\(operation): \(code ?? "done")")
            }
        }
        for (operation, arguments) in operations("own\0.txt") {
            let code = await bench.refusal(operation, arguments)
            #expect(["file_error", "not_permitted"].contains(code), "\(operation): \(code ?? "done")")
        }
        #expect(bench.text("own") == "own" && bench.names() == [longest, "own"])
    }

    @Test func whatIsNoFileIsNeitherReadNorWaitedFor() async throws {
        let root = bench.root
        #expect(mkfifo(root + "/fifo", 0o600) == 0)
        #expect(mknod(root + "/socket", S_IFSOCK | 0o600, 0) == 0)
        var special = ["fifo", "socket"]
        // Root alone may make one.
        if mknod(root + "/device", S_IFCHR | 0o600, 1 << 8 | 5) == 0 { special.append("device") }
        for name in special {
            for (operation, arguments) in [
                ("read", ["path": .string(name)]), ("copy", ["source": .string(name), "destination": "c"]),
                ("write", ["path": .string(name), "data": ["text": "x"], "append": true]),
            ] as [(String, JSON)] {
                let code = await bench.refusal(operation, arguments)
                #expect(code == "not_a_file", "\(operation) \(name)")
            }
            #expect(await bench.refusal("list", ["path": .string(name)]) == "not_a_directory")
            try await bench.call("write", ["path": .string(name), "data": ["text": "file"]])
            #expect(bench.text(name) == "file")
        }
    }

    @Test func aHardLinkIsNotWrittenThrough() async throws {
        #expect(link(outside + "/secret", bench.root + "/hard") == 0)
        let append: JSON = ["path": "hard", "data": ["text": "x"], "append": true]
        #expect(await bench.refusal("write", append) == "linked")
        expectUntouched()
        try await bench.call("write", ["path": "hard", "data": ["text": "mine"]])
        #expect(bench.text("hard") == "mine")
        expectUntouched()
        try await bench.call("write", append)
        #expect(bench.text("hard") == "minex")
    }

    /// A folder and a link that leads out take turns under one name while everything else runs.
    @Test func noRaceLeadsOut() async throws {
        let root = bench.root
        try bench.makeFolder("swap")
        try bench.put("swap/secret", "inside")
        try bench.put("own", "own")
        let isOver = Atomic(false)
        let swapper = Thread { [outside] in
            while !isOver.load(ordering: .relaxed) {
                rename(root + "/swap", root + "/aside")
                symlink(outside, root + "/swap")
                sched_yield()
                unlink(root + "/swap")
                rename(root + "/aside", root + "/swap")
                sched_yield()
            }
            isOver.store(false, ordering: .releasing)
        }
        swapper.start()
        var (inside, refused) = (0, 0)
        let end = ContinuousClock.now + .seconds(2)
        while ContinuousClock.now < end {
            for (operation, arguments) in [
                ("read", ["path": "swap/secret", "encoding": "text"]), ("read", ["path": "swap/../swap/secret"]),
                ("write", ["path": "swap/secret", "data": ["text": "inside"]]),
                ("write", ["path": "swap/new", "data": ["text": "inside"], "append": true]),
                ("createDirectory", ["path": "swap/deep/er"]), ("delete", ["path": "swap/deep", "recursive": true]),
                ("list", ["path": "swap"]),
                ("copy", ["source": "own", "destination": "swap/secret", "overwrite": true]),
                ("copy", ["source": "swap", "destination": "copy"]), ("delete", ["path": "copy", "recursive": true]),
                ("move", ["source": "own", "destination": "swap/own"]),
                ("move", ["source": "swap/own", "destination": "own"]),
                ("delete", ["path": "swap/new"]), ("write", ["path": "swap/secret", "data": ["text": "inside"]]),
            ] as [(String, JSON)] {
                do {
                    let answer = try await bench.call(operation, arguments)
                    inside += 1
                    #expect(answer["text"] != "outside")
                } catch {
                    refused += 1
                }
            }
        }
        isOver.store(true, ordering: .relaxed)
        while isOver.load(ordering: .acquiring) { try await Task.sleep(for: .milliseconds(1)) }
        expectUntouched()
        // Otherwise nothing was raced.
        #expect(inside > 50 && refused > 50, "\(inside) inside, \(refused) refused")
    }
}
