import ApsuleKit
import Foundation
import TestPrograms
import Testing

@testable import HostCore

/// A program in the worker's place, behind exactly the worker's rules: what it reaches, as root and as somebody else.
@Suite(.serialized)
struct WorkerConfinementTests {
    private static let users = isRoot ? [false, true] : [false]

    /// What the kernel knows of Landlock.
    private static let abi: Int = {
        guard let (mine, theirs) = try? OwnedFile.socketPair() else { return 0 }
        let reading = Reading(mine)
        let arguments = systemRules + ["--best-effort", "--report", "4", "--", Programs.probe]
        _ = try? Workshop.run(Workshop.launcher, arguments, descriptors: [4: theirs])
        close(theirs.release())
        let report = try? JSON(parsing: reading.finish().trimmingCharacters(in: .newlines))
        return Int(report?["landlock"]?.intValue ?? 0)
    }()

    /// A project, its sandbox, and what lies beside them: the host's state, another project, the home.
    private final class Bench {
        // Not where the tests' plugins are: this program has loaded some, and its libraries' folders are a worker's, too.
        let folder = FileManager.default.temporaryDirectory.appending(path: "apsule-worker-\(UUID().uuidString)").path
        var project: String { folder + "/project" }
        var sandbox: String { folder + "/data/sandbox/mine" }
        var others: [String] {
            ["/state/grants.db", "/data/sandbox/other/files/x", "/home/.ssh/id"].map { folder + $0 }
        }

        init() throws {
            let made = ["/project", "/data/sandbox/mine/files", "/data/sandbox/other/files", "/state", "/home/.ssh"]
            chmod(folder, 0o755)
            for name in made {
                try FileManager.default.createDirectory(atPath: folder + name, withIntermediateDirectories: true)
                chmod(folder + name, 0o777)
            }
            for path in others + [project + "/main.js"] {
                try Data("secret".utf8).write(to: URL(fileURLWithPath: path))
                chmod(path, 0o666)
            }
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        /// Runs the probe as the worker of this project.
        func attempt(
            _ attempts: [String], unprivileged: Bool, families: [Descriptor] = []
        ) throws -> Workshop.Output {
            let confinement = WorkerConfinement(
                installation: Installation(), project: project, sandbox: sandbox, families: families)
            let (control, _) = try OwnedFile.socketPair()
            let command = try confinement.command(control: control, output: control)
            let end = try #require(command.arguments.lastIndex(of: "--"))
            let arguments = command.arguments[..<end] + ["--", Programs.probe] + attempts
            let user = ["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]
            return try Workshop.run(
                unprivileged ? "/usr/bin/setpriv" : Workshop.launcher,
                (unprivileged ? user + [Workshop.launcher] : []) + arguments, descriptors: [3: control])
        }
    }

    @Test(arguments: users) func seesItsProjectAndWritesItsSandbox(unprivileged: Bool) throws {
        let bench = try Bench()
        let file = bench.sandbox + "/files/x"
        let result = try bench.attempt(
            [
                "read", bench.project + "/main.js", "write", bench.project + "/main.js", "create",
                bench.project + "/new",
                "remove", bench.project + "/main.js", "create", file, "read", file, "truncate", file, "remove", file,
                "symlink", file, "write", "/dev/null", "read", "/usr/lib/os-release",
            ], unprivileged: unprivileged)
        #expect(result["read \(bench.project)/main.js"] == "ok", "\(result.text) \(result.errors)")
        for verb in ["write", "remove"] { #expect(result["\(verb) \(bench.project)/main.js"] == "EACCES") }
        #expect(result["create \(bench.project)/new"] == "EACCES")
        for verb in ["create", "read", "truncate", "remove"] { #expect(result["\(verb) \(file)"] == "ok") }
        #expect(result["symlink \(file)"] == "EACCES")
        #expect(result["write /dev/null"] == "ok")
        #expect(result["read /usr/lib/os-release"] == "ok")
    }

    @Test(arguments: users) func reachesNothingElse(unprivileged: Bool) throws {
        let bench = try Bench()
        let closed =
            bench.others + [
                "/etc/shadow", "/etc/sudoers", "/root/.bashrc", "/var/lib/dpkg/status", "/dev/mem", "/dev/tty",
                "/dev/sda",
                "/proc/self/root/etc/shadow", bench.project + "/../state/grants.db",
            ]
        let folders = ["/root", "/home", "/tmp", "/run", "/var", "/etc", bench.folder]
        let programs = ["/bin/sh", "/usr/bin/env", "/usr/bin/python3"]
        let result = try bench.attempt(
            closed.flatMap { ["read", $0, "write", $0] } + folders.flatMap { ["read", $0] }
                + programs.flatMap { ["execute", $0] }
                + ["create", "/tmp/apsule-escape", "mkdir", bench.folder + "/data/sandbox/third"],
            unprivileged: unprivileged)
        for path in closed {
            for verb in ["read", "write"] {
                let answer = result["\(verb) \(path)"]
                #expect(["EACCES", "EPERM", "ENOENT"].contains(answer), "\(verb) \(path): \(answer ?? result.errors)")
            }
        }
        for path in folders { #expect(result["read \(path)"] == "EACCES", "\(path)") }
        for path in bench.others { #expect(result["read \(path)"] == "EACCES") }
        for program in programs where access(program, F_OK) == 0 { #expect(result["execute \(program)"] == "EACCES") }
        #expect(result["create /tmp/apsule-escape"] == "EACCES")
        #expect(result["mkdir \(bench.folder)/data/sandbox/third"] == "EACCES")
    }

    /// A process of the same user holds secrets in its memory and environment: the parent, above all.
    @Test(arguments: users) func looksIntoNoProcessOfItsUser(unprivileged: Bool) throws {
        let bench = try Bench()
        let victim = try sleeper(unprivileged)
        defer { victim.kill() }
        let names = ["environ", "maps", "mem", "fd/0", "cwd/", "root/etc/passwd", "task/\(victim.pid)/environ"]
        let result = try bench.attempt(
            names.flatMap { ["read", "/proc/\(victim.pid)/\($0)"] } + ["parent", "-", "read", "/proc/self/environ"],
            unprivileged: unprivileged)
        for name in names {
            let answer = result["read /proc/\(victim.pid)/\(name)"]
            #expect(["EACCES", "EPERM"].contains(answer), "\(name): \(answer ?? result.errors)")
        }
        #expect(["EACCES", "EPERM"].contains(result["parent -"]))
        #expect(result["read /proc/self/environ"] == "ok")
    }

    @Test(.enabled(if: abi >= 4, "this kernel's Landlock has no rules for TCP"), arguments: users)
    func opensNoConnectionThatItsFamiliesDoNotNeed(unprivileged: Bool) throws {
        let bench = try Bench()
        let result = try bench.attempt(["connect", "9", "bind", "0"], unprivileged: unprivileged)
        #expect(result["connect 9"] == "EACCES", "\(result.text) \(result.errors)")
        #expect(result["bind 0"] == "EACCES")
        let network = try Descriptor([
            "apsule": 1, "family": "net", "version": "1.0.0", "summary": "Connects.", "permission": "network",
            "operations": ["get": ["summary": "Gets."]],
        ])
        let open = try bench.attempt(["connect", "9", "bind", "0"], unprivileged: unprivileged, families: [network])
        #expect(open["connect 9"] == "ECONNREFUSED" && open["bind 0"] == "ok")
    }

    @Test(.enabled(if: abi >= 6, "this kernel's Landlock has no scopes"), arguments: users)
    func signalsAndAbstractSocketsStayInside(unprivileged: Bool) throws {
        let bench = try Bench()
        let victim = try sleeper(unprivileged)
        defer { victim.kill() }
        let name = "apsule-test-\(UUID().uuidString)"
        let listener = try listen(abstract: name)
        defer { close(listener) }
        let result = try bench.attempt(
            ["signal", "\(victim.pid)", "signal", "0", "local", name], unprivileged: unprivileged)
        #expect(result["signal \(victim.pid)"] == "EPERM", "\(result.text) \(result.errors)")
        #expect(result["signal 0"] == "EPERM")
        #expect(result["local \(name)"] == "EPERM")
    }

    /// A process of the user that the probe runs as.
    private func sleeper(_ unprivileged: Bool) throws -> ChildProcess {
        let user = ["--reuid=65534", "--regid=65534", "--clear-groups", "/bin/sleep", "1000"]
        return try ChildProcess.start(
            unprivileged ? ChildCommand("/usr/bin/setpriv", user) : ChildCommand("/bin/sleep", ["1000"]))
    }

    private func listen(abstract name: String) throws -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0[1..<(1 + name.utf8.count)].copyBytes(from: name.utf8) }
        let size = socklen_t(MemoryLayout<sa_family_t>.size + 1 + name.utf8.count)
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        #expect(bound == 0 && Glibc.listen(descriptor, 4) == 0)
        return descriptor
    }
}
