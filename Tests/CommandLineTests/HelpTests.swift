import ApsuleKit
import Foundation
import HostCore
import Testing

@Suite struct HelpTests {
    let apsule: ApsuleTool
    init() throws { apsule = try ApsuleTool() }

    @Test func overviewNamesEveryCommand() throws {
        let help = try apsule.run("help")
        #expect(help.status == 0)
        for command in ["call", "discover", "permissions", "help"] { #expect(help.out.contains("  \(command) ")) }
        #expect(!help.out.contains("\u{1b}"), "colours belong on a terminal only")
    }

    @Test func everyCommandExplainsItselfAlike() throws {
        let names = try apsule.run("help").lines.filter { $0.hasPrefix("  ") }
            .compactMap { $0.split(separator: " ").first.map(String.init) }
        #expect(names.count >= 4)
        for name in names {
            let help = try apsule.run("help", name)
            #expect(help.status == 0 && help.out.hasPrefix("apsule \(name)"))
            #expect(try apsule.run(name, "--help").out == help.out)
        }
    }

    @Test func errorsOfFamiliesAreExplained() throws {
        let help = try apsule.run("help", "permissions.unknown", "--json").json
        #expect(help?["source"] == "permissions")
        #expect(help?["operations"] == ["permissions.status", "permissions.request"])
        #expect(help?["fix"]?.stringValue?.isEmpty == false)
        #expect(try apsule.run("help", "host.timeout").out.contains("fix: "))
    }

    @Test func whatIsUnknownIsSaidWithTheNearest() throws {
        let help = try apsule.run("help", "host.timout")
        #expect(help.status == 2)
        #expect(help.err.contains("Did you mean host.timeout?"))
        #expect(try apsule.run("hepl").err.contains("Did you mean help?"))
        #expect(try apsule.run("call", "timer.sleep", "--alow=x").err.contains("Did you mean --allow?"))
    }

    @Test func everyDeclaredCodeIsExplained() throws {
        let descriptors = try ApsuleTool.manifests().map { try Descriptor(parsing: [UInt8](Data(contentsOf: $0))) }
        #expect(descriptors.count >= 4)
        #expect(ErrorCatalogue(descriptors: descriptors).unexplained == [])
    }

    /// Every code that the host's own sources raise has a text.
    @Test func everyCodeOfTheHostIsExplained() throws {
        let errors = ErrorCatalogue(descriptors: [])
        let sources = ApsuleTool.checkout.appending(path: "Sources")
        let own = [
            "host", "permission", "plugin", "manifest", "descriptor", "script", "replay", "policy", "usage", "project",
        ]
        var found = 0
        for case let file as URL in try #require(
            FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        where ["swift", "js", "c"].contains(file.pathExtension) {
            let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
            for match in text.matches(of: /(?:HostError\(|hostError\(|code: |error\()"([a-z]+)\.([a-z_]+)"/)
            where own.contains(String(match.1)) {
                found += 1
                let code = "\(match.1).\(match.2)"
                #expect(errors[code] != nil, "\(code) of \(file.lastPathComponent) needs a line in HostErrorTexts")
            }
        }
        #expect(found > 30)
    }

    @Test func malformedErrorSectionsAreRefused() throws {
        func descriptor(_ section: JSON, _ errors: JSON = []) throws -> Descriptor {
            try Descriptor([
                "apsule": 1, "family": "demo", "version": "1.0.0", "summary": "Demo.", "errors": section,
                "operations": ["run": ["summary": "Runs.", "errors": errors]],
            ])
        }
        let fine = try descriptor(
            ["demo.broken": ["meaning": "It broke.", "fix": "Mend it."]],
            ["demo.broken", ["code": "demo.lost", "meaning": "It is lost."], "demo.odd"])
        #expect(fine.operation("run")?.errors == ["demo.broken", "demo.lost", "demo.odd"])
        let catalogue = ErrorCatalogue(descriptors: [fine])
        #expect(catalogue["demo.broken"]?.text == ErrorText("It broke.", fix: "Mend it."))
        #expect(catalogue["demo.lost"]?.operations == ["demo.run"])
        #expect(catalogue.unexplained == ["demo.odd"])
        for section: JSON in [
            ["other.broken": ["meaning": "x"]], ["demo.Broken": ["meaning": "x"]], ["demo.broken": ["fix": "x"]],
            ["demo.broken": ["meaning": "x", "advice": "y"]], ["demo.broken": "x"], [],
        ] {
            #expect(throws: HostError.self, "\(section.text)") { try descriptor(section) }
        }
        for errors: JSON in [["broken"], [1], [["meaning": "x"]], ["demo.broken.twice"]] {
            #expect(throws: HostError.self, "\(errors.text)") { try descriptor([:], errors) }
        }
    }
}
