import ApsuleKit
import Foundation
import Glibc
import Synchronization
import Testing

@testable import HostCore

@Suite struct StateTests {
    private func mode(_ path: String) -> mode_t {
        var info = stat()
        return stat(path, &info) == 0 ? info.st_mode & 0o7777 : 0
    }

    @Test func foldersAreTheUsersAlone() throws {
        let folder = try TemporaryFolder()
        _ = try SecureFolder.make(folder.path + "/a/b/c")
        for path in ["/a", "/a/b", "/a/b/c"] { #expect(mode(folder.path + path) == 0o700) }
        chmod(folder.path + "/a/b/c", 0o777)
        _ = try SecureFolder.make(folder.path + "/a/b/c")
        #expect(mode(folder.path + "/a/b/c") == 0o700)
    }

    @Test func linksAndForeignFoldersAreRefused() throws {
        let folder = try TemporaryFolder()
        mkdir(folder.path + "/real", 0o700)
        symlink(folder.path + "/real", folder.path + "/link")
        let link = failure { _ = try SecureFolder.make(folder.path + "/link") }
        #expect(link?.code == "host.state_unusable")
        #expect(link?.message.contains("symbolic link") == true)
        symlink("/nowhere", folder.path + "/dangling")
        #expect(failure { _ = try SecureFolder.make(folder.path + "/dangling") }?.code == "host.state_unusable")
        try folder.write("file", "")
        #expect(failure { _ = try SecureFolder.make(folder.path + "/file") }?.code == "host.state_unusable")
        #expect(failure { _ = try SecureFolder.make(folder.path + "/file/under") }?.code == "host.state_unusable")
        #expect(failure { _ = try SecureFolder.make("relative") }?.code == "host.state_unusable")
        let outer = try SecureFolder.make(folder.path + "/real")
        symlink("..", folder.path + "/real/up")
        #expect(failure { _ = try outer.folder("up") }?.code == "host.state_unusable")
        #expect(failure { _ = try outer.folder("..") }?.code == "host.state_unusable")
        guard geteuid() == 0 else { return }
        mkdir(folder.path + "/foreign", 0o777)
        chown(folder.path + "/foreign", 65_534, 65_534)
        let foreign = failure { _ = try SecureFolder.make(folder.path + "/foreign") }
        #expect(foreign?.message.contains("belongs to user 65534") == true)
        #expect(foreign?.details["fix"] != nil)
    }

    @Test func pathsFollowTheEnvironment() throws {
        let plain = try HostPaths(environment: ["HOME": "/home/me"])
        #expect(plain.state == "/home/me/.local/state/apsule" && plain.data == "/home/me/.local/share/apsule")
        #expect(plain.configuration == "/home/me/.config/apsule")
        let moved = try HostPaths(environment: [
            "HOME": "/home/me", "XDG_STATE_HOME": "/s", "XDG_DATA_HOME": "relative",
        ])
        #expect(moved.state == "/s/apsule" && moved.data == "/home/me/.local/share/apsule")
        for environment in [[:], ["HOME": ""], ["HOME": "home"], ["XDG_STATE_HOME": "/s", "XDG_DATA_HOME": "/d"]] {
            let error = failure { try HostPaths(environment: environment) }
            #expect(error?.code == "host.state_unusable")
            #expect(error?.details["fix"]?.stringValue?.contains("--state") == true)
        }
        let all = ["XDG_STATE_HOME": "/s", "XDG_DATA_HOME": "/d", "XDG_CONFIG_HOME": "/c"]
        #expect(try HostPaths(environment: all).configuration == "/c/apsule")
        #expect(try HostPaths(override: "/x", environment: [:]).state == "/x/state")
        #expect(try HostPaths(override: "x", environment: [:]).state == HostPaths.currentFolder() + "/x/state")
    }

    @Test func projectsOfOneIdHaveTheirOwnData() throws {
        let folder = try TemporaryFolder()
        let one = try ProjectFiles(data: folder.path, identity: ProjectIdentity(id: "a.b", origin: "folder:/x#1@2"))
        let two = try ProjectFiles(data: folder.path, identity: ProjectIdentity(id: "a.b", origin: "folder:/y#1@2"))
        #expect(one.path != two.path)
        let file = one.open("note", flags: O_WRONLY | O_CREAT, mode: 0o666)
        #expect(file >= 0)
        close(file)
        #expect(two.open("note", flags: O_RDONLY, mode: 0) == -ENOENT)
    }

    /// The examples of the standard and the lengths about the end of a block; expected by `sha256sum`.
    @Test(arguments: [
        ("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        ("a", 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
        ("a", 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"),
        ("a", 63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"),
        ("a", 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
        ("a", 119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"),
        ("a", 1_000_000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ])
    func hashesAreTheStandards(text: String, count: Int, digest: String) {
        #expect(Hash.sha256(Array(String(repeating: text, count: count).utf8)) == digest)
    }

    @Test func aSandboxIsNamedByAHashThatNobodyCanMeet() {
        let name = ProjectIdentity(id: "a.b", origin: "folder:/x#1@2").folderName
        #expect(name == "a.b-" + Hash.sha256(Array("folder:/x#1@2".utf8)).prefix(32))
    }

    /// A folder that is moved out of the sandbox while a path through it is followed takes nobody along.
    @Test func noRaceLeadsOutOfTheSandbox() throws {
        let folder = try TemporaryFolder()
        try folder.write("secret", "secret")
        let files = try ProjectFiles(data: folder.path + "/data", identity: .commandLine)
        let root = files.path + "/files"
        mkdir(root + "/in", 0o700)
        mkdir(root + "/in/deep", 0o700)
        try folder.write("outside/secret", "secret")
        let isDone = Atomic(false)
        let hasEnded = Signal()
        HostCore.Thread.start(name: "mover") {
            while !isDone.load(ordering: .relaxed) {
                rename(root + "/in/deep", folder.path + "/outside/deep")
                rename(folder.path + "/outside/deep", root + "/in/deep")
                unlink(root + "/in/secret")
                symlink(folder.path + "/secret", root + "/in/secret")
            }
            hasEnded.post()
        }
        for _ in 0..<20_000 {
            for path in ["in/deep/../secret", "in/secret", "in/deep/../../in/secret"] {
                let file = files.open(path, flags: O_RDONLY, mode: 0)
                if file >= 0 { close(file) }
                if file >= 0 { Issue.record("\(path) was opened") }
            }
        }
        isDone.store(true, ordering: .relaxed)
        hasEnded.wait()
    }

    /// What a person decided is not guessed from a damaged file, and nothing of it is thrown away.
    @Test func damagedGrantsAllowNothingAndStay() throws {
        let folder = try TemporaryFolder()
        _ = try GrantStore(state: folder.path + "/state")
        let path = folder.path + "/state/grants.db"
        let damaged =
            Array("no database at all, but long enough to be looked at ".utf8) + [UInt8](repeating: 7, count: 8_192)
        for name in ["grants.db-wal", "grants.db-shm"] { unlink(folder.path + "/state/" + name) }
        try Data(damaged).write(to: URL(fileURLWithPath: path))
        let error = #expect(throws: HostError.self) { try GrantStore(state: folder.path + "/state") }
        #expect(error?.code == "grants.corrupt")
        #expect(error?.details["fix"]?.stringValue?.contains(path) == true)
        #expect(try Array(Data(contentsOf: URL(fileURLWithPath: path))) == damaged)
    }

    @Test func nothingLeadsOutOfTheSandbox() throws {
        let folder = try TemporaryFolder()
        try folder.write("secret", "secret")
        let files = try ProjectFiles(data: folder.path + "/data", identity: .commandLine)
        let root = files.path + "/files"
        symlink(folder.path + "/secret", root + "/absolute")
        symlink("../../../../secret", root + "/relative")
        mkdir(root + "/in", 0o700)
        symlink("..", root + "/in/up")
        for path in [
            "absolute", "relative", "../secret", "/etc/passwd", "in/up/../../x", "in/../../storage", "a\0b", "",
            "/proc/self/root/etc/passwd",
        ] {
            let file = files.open(path, flags: O_RDONLY, mode: 0)
            #expect(file < 0, "\(path)")
            if file >= 0 { close(file) }
        }
        // What stays inside may go up and down.
        let made = files.open("in/up/in/x", flags: O_WRONLY | O_CREAT, mode: 0o777)
        #expect(made >= 0)
        close(made)
        #expect(mode(root + "/in/x") & 0o7000 == 0)
        // A family's folder is none of the files, and no link may stand for it.
        symlink(folder.path, files.path + "/evil")
        #expect(files.dataDirectory("evil") < 0)
        #expect(files.dataDirectory("storage") >= 0)
        #expect(files.dataDirectory("storage") == files.dataDirectory("storage"))
    }
}
