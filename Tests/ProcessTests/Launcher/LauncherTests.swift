import Foundation
import HostCore
import TestPrograms
import Testing

/// What `apsule-launch` takes away, tried by a program that it started.
@Suite(.serialized)
struct LauncherTests {
    /// Starts the probe confined, as this user or as one without privileges.
    private func launch(
        _ options: [String], _ attempts: [String], unprivileged: Bool = false
    ) throws -> Workshop.Output {
        let arguments = systemRules + options + ["--", Programs.probe] + attempts
        return unprivileged
            ? try Programs.runUnprivileged(Workshop.launcher, arguments)
            : try Workshop.run(Workshop.launcher, arguments)
    }

    private static let users = isRoot ? [false, true] : [false]

    private func folder(_ name: String) throws -> String {
        let url = Workshop.folder.appending(path: "\(name)-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        chmod(url.path, 0o777)
        return url.path
    }

    @Test(arguments: users)
    func readsOnlyWhatIsNamed(unprivileged: Bool) throws {
        let named = try folder("named")
        let other = try folder("other")
        for path in [named, other] { try Data("x".utf8).write(to: URL(fileURLWithPath: path + "/file")) }
        for path in [named, other] { chmod(path + "/file", 0o644) }
        let result = try launch(
            ["--ro", named],
            [
                "read", named + "/file", "read", other + "/file", "read", "/etc/passwd", "write", named + "/file",
                "create", named + "/new", "create", other + "/new", "create", "/tmp/apsule-escape",
                "read", "/proc/self/root/etc/passwd", "read", named + "/../../../etc/passwd",
            ], unprivileged: unprivileged)
        #expect(result.status == .exited(0))
        #expect(result["read \(named)/file"] == "ok")
        #expect(result["read \(other)/file"] == "EACCES")
        #expect(result["read /etc/passwd"] == "EACCES")
        #expect(result["write \(named)/file"] == "EACCES")
        #expect(result["create \(named)/new"] == "EACCES")
        #expect(result["create \(other)/new"] == "EACCES")
        #expect(result["create /tmp/apsule-escape"] == "EACCES")
        #expect(result["read /proc/self/root/etc/passwd"] == "EACCES")
        #expect(result["read \(named)/../../../etc/passwd"] == "EACCES")
    }

    @Test(arguments: users)
    func writesFilesAndFoldersButMakesNoLinks(unprivileged: Bool) throws {
        let path = try folder("writable")
        let result = try launch(
            ["--rw", path],
            [
                "create", path + "/file", "truncate", path + "/file", "mkdir", path + "/sub", "create", path + "/sub/a",
                "remove", path + "/sub/a", "remove", path + "/sub", "symlink", path + "/link",
            ], unprivileged: unprivileged)
        let lines = result.text.split(separator: "\n")
        #expect(lines.count == 7)
        #expect(lines.dropLast().allSatisfy { $0.hasSuffix(": ok") })
        #expect(result["symlink \(path)/link"] == "EACCES")
    }

    @Test(arguments: users)
    func seesItselfInProcAndNobodyElse(unprivileged: Bool) throws {
        let result = try launch(
            [],
            [
                "read", "/proc/self/status", "read", "/proc/thread-self/maps", "read", "/proc/self/environ", "parent",
                "-",
                "read", "/proc/1/environ", "read", "/proc/meminfo",
            ], unprivileged: unprivileged)
        #expect(result["read /proc/self/status"] == "ok")
        #expect(result["read /proc/thread-self/maps"] == "ok")
        #expect(result["read /proc/self/environ"] == "ok")
        #expect(result["parent -"] == "EACCES")
        #expect(result["read /proc/1/environ"] == "EACCES")
        #expect(result["read /proc/meminfo"] == "EACCES")
    }

    /// libdispatch needs /proc/<thread>/stat; what others keep there stays closed though the folder is open.
    @Test(arguments: users)
    func looksIntoNobodyWhereProcIsOpen(unprivileged: Bool) throws {
        let result = try launch(
            ["--ro", "/proc"],
            ["parent", "-", "read", "/proc/1/environ", "read", "/proc/1/maps", "read", "/proc/1/stat"],
            unprivileged: unprivileged)
        #expect(["EACCES", "EPERM"].contains(result["parent -"]), "\(result.text)")
        #expect(["EACCES", "EPERM"].contains(result["read /proc/1/environ"]))
        #expect(["EACCES", "EPERM"].contains(result["read /proc/1/maps"]))
        #expect(result["read /proc/1/stat"] == "ok")
    }

    /// The kernel forgets cached folders of /proc and makes new ones, which the rule would not know.
    @Test func keepsItsOwnProcAlive() throws {
        let result = try launch([], ["descriptors", "-"])
        let beyond = result.details.map { $0.split(separator: " ") }.filter { !["0", "1", "2"].contains($0[0]) }
        #expect(beyond.count == 1)
        #expect(beyond.first?.last?.hasPrefix("/proc/") == true, "\(result.text)")
    }

    @Test(arguments: users)
    func hasNoCapabilities(unprivileged: Bool) throws {
        let result = try launch([], ["status", "Cap", "status", "NoNewPrivs"], unprivileged: unprivileged)
        let sets = result.details.filter { $0.hasPrefix("Cap") }.map { $0.split(whereSeparator: \.isWhitespace) }
        #expect(sets.count == 5)
        for set in sets where set[0] != "CapBnd:" || !unprivileged {
            #expect(set[1].allSatisfy { $0 == "0" }, "\(set)")
        }
        #expect(result.details.contains { $0.hasPrefix("NoNewPrivs") && $0.hasSuffix("1") })
    }

    @Test func closesWhatIsNotKept() throws {
        let (kept, other) = try OwnedFile.socketPair()
        let files: [Int32: OwnedFile] = [5: kept, 7: other, 90: other]
        let arguments = systemRules + ["--keep", "5", "--", Programs.probe, "descriptors", "-"]
        let result = try Workshop.run(Workshop.launcher, arguments, descriptors: files)
        let numbers = result.details.filter { !$0.contains("/proc/") }.compactMap { $0.split(separator: " ").first }
        #expect(numbers == ["0", "1", "2", "5"])
        let missing = try Workshop.run(Workshop.launcher, systemRules + ["--keep", "9", "--", Programs.probe])
        #expect(missing.status == .exited(125))
        #expect(missing.errors == "apsule-launch: --keep 9: Bad file descriptor\n")
    }

    @Test func limitsResources() throws {
        let result = try launch(["--rlimit", "nofile=77", "--rlimit", "core=0"], ["limits", "Max"])
        let files = result.details.first { $0.hasPrefix("Max open files") }
        #expect(files?.split(separator: " ").dropFirst(3).prefix(2) == ["77", "77"])
        let core = result.details.first { $0.hasPrefix("Max core") }
        #expect(core?.split(separator: " ").dropFirst(4).prefix(2) == ["0", "0"])
    }

    @Test func setsEnvironmentAndFolder() throws {
        let path = try folder("start")
        let result = try launch(
            ["--env", "APSULE_TEST=yes", "--chdir", path, "--ro", path], ["environment", "APSULE_TEST", "folder", "-"])
        #expect(result.details == ["yes", path])
    }

    @Test func reportsWhatItReached() throws {
        let (mine, theirs) = try OwnedFile.socketPair()
        let reading = Reading(mine)
        let arguments = systemRules + ["--report", "4", "--filter", "--", Programs.probe, "exit", "7"]
        let result = try Workshop.run(Workshop.launcher, arguments, descriptors: [4: theirs])
        close(theirs.release())
        #expect(result.status == .exited(7))
        let line = reading.finish()
        #expect(line.hasPrefix("{\"landlock\":") && line.hasSuffix("}\n"))
        #expect(line.contains("\"filter\":true"))
        #expect(!line.contains("\"landlock\":0"))
    }
}
