import Foundation
import Glibc
import Testing

@testable import ApsuleKit

@Suite final class FileDraftTests {
    let root: String

    init() throws {
        root = FileManager.default.temporaryDirectory.appending(path: "apsule-draft-\(UUID())").path
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    private func draft(_ name: String, in folder: String? = nil) throws -> FileDraft {
        let descriptor = open(folder ?? root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        try #require(descriptor >= 0)
        return try FileDraft(at: FilePlace(adopting: descriptor, name: name, path: name, family: "test"))
    }

    private func text(_ name: String) -> String? { try? String(contentsOfFile: "\(root)/\(name)", encoding: .utf8) }
    private var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: root).sorted()) ?? [] }

    @Test func whatIsCommittedIsThereAsAWhole() throws {
        let draft = try draft("a")
        try draft.write(Array("one ".utf8))
        #expect(names.isEmpty)
        try draft.write(Array("two".utf8))
        try draft.commit()
        #expect(text("a") == "one two")
        #expect(names == ["a"])
        var status = stat()
        #expect(stat("\(root)/a", &status) == 0 && status.st_mode & 0o777 == 0o600)
        draft.discard()
        #expect(text("a") == "one two")
    }

    @Test func whatIsNotCommittedLeavesNothing() throws {
        try Data("old".utf8).write(to: URL(fileURLWithPath: "\(root)/a"))
        do {
            let draft = try draft("a")
            try draft.write([1, 2, 3])
        }
        let second = try draft("b")
        try second.write([1])
        second.discard()
        #expect(throws: HostError.self) { try second.commit() }
        #expect(names == ["a"])
        #expect(text("a") == "old")
    }

    @Test func aFileIsReplacedOnlyWhereThatIsAskedFor() throws {
        try Data("old".utf8).write(to: URL(fileURLWithPath: "\(root)/a"))
        let first = try draft("a")
        try first.write(Array("new".utf8))
        let error = #expect(throws: HostError.self) { try first.commit(replacing: false) }
        #expect(error?.code == "test.already_exists")
        #expect(text("a") == "old")
        let second = try draft("a")
        try second.write(Array("new".utf8))
        try second.commit()
        #expect(text("a") == "new")
        #expect(names == ["a"])
    }

    @Test func aLinkIsReplacedAndNotFollowed() throws {
        try Data("other".utf8).write(to: URL(fileURLWithPath: "\(root)/other"))
        try FileManager.default.createSymbolicLink(atPath: "\(root)/soft", withDestinationPath: "other")
        #expect(link("\(root)/other", "\(root)/hard") == 0)
        for name in ["soft", "hard"] {
            let draft = try draft(name)
            try draft.write(Array("new".utf8))
            try draft.commit()
            #expect(text(name) == "new")
        }
        #expect(text("other") == "other")
        #expect(names == ["hard", "other", "soft"])
    }

    @Test func aFolderIsNotReplaced() throws {
        try FileManager.default.createDirectory(atPath: "\(root)/a", withIntermediateDirectories: true)
        let draft = try draft("a")
        let error = #expect(throws: HostError.self) { try draft.commit() }
        #expect(error?.code == "test.is_a_directory")
        #expect(names == ["a"])
    }

    @Test func theLongestNameFits() throws {
        let longest = try draft(String(repeating: "n", count: 255))
        try longest.commit()
        try draft(String(repeating: "n", count: 255)).commit()
        let tooLong = try draft(String(repeating: "n", count: 256))
        let error = #expect(throws: HostError.self) { try tooLong.commit() }
        #expect(error?.code == "test.name_too_long")
        #expect(names == [String(repeating: "n", count: 255)])
    }

    @Test func aFileSystemWithoutUnnamedFilesWillDo() throws {
        func draft() throws -> FileDraft {
            try FileDraft(
                at: FilePlace(adopting: open(root, O_RDONLY | O_DIRECTORY), name: "a", path: "a", family: "test"),
                knowsUnnamed: false)
        }
        let first = try draft()
        try first.write(Array("one".utf8))
        #expect(names.count == 1 && names[0].hasPrefix(".apsule-"))
        try first.commit(replacing: false)
        #expect(text("a") == "one")
        let second = try draft()
        let error = #expect(throws: HostError.self) { try second.commit(replacing: false) }
        #expect(error?.code == "test.already_exists")
        do { _ = try draft() }
        let third = try draft()
        try third.write(Array("three".utf8))
        try third.commit()
        #expect(text("a") == "three")
        #expect(names == ["a"])
    }

    @Test func aFolderThatTakesNoFilesIsRefused() throws {
        let error = #expect(throws: HostError.self) { _ = try draft("a", in: "/proc/self") }
        #expect(["test.not_permitted", "test.not_found"].contains(error?.code))
    }
}
