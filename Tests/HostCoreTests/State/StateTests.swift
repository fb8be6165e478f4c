import ApsuleKit
import Foundation
import Glibc
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
        #expect(try HostPaths(override: "x", environment: [:]).state == HostPaths.currentFolder + "/x/state")
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
