import ApsuleKit
import Foundation
import HostCore
import Testing

@Suite struct DocsTests {
    let apsule: ApsuleTool
    init() throws { apsule = try ApsuleTool() }

    @Test func everyOperationHasItsPlace() throws {
        let written = try apsule.run("docs", "--output", "Reference", "--json")
        #expect(written.status == 0)
        let names = written.json?["written"]?.arrayValue?.compactMap(\.stringValue) ?? []
        let descriptors = try ApsuleTool.manifests().map { try Descriptor(parsing: [UInt8](Data(contentsOf: $0))) }
        #expect(Set(names) == Set(descriptors.map { "\($0.family).md" } + ["README.md", "errors.md"]))
        let index = try apsule.read("Reference/README.md")
        for descriptor in descriptors {
            let page = try apsule.read("Reference/\(descriptor.family).md")
            #expect(index.contains("[\(descriptor.family)](\(descriptor.family).md)"))
            for operation in descriptor.operations {
                #expect(page.contains("## `\(operation.fullName)`\n"), "\(operation.fullName)")
                for name in operation.arguments.propertyNames {
                    #expect(page.contains("| `\(name)"), "\(operation.fullName) \(name)")
                }
                for code in operation.errors { #expect(page.contains("`\(code)`")) }
            }
        }
        #expect(try apsule.read("Reference/errors.md").contains("| `host.timeout` |"))
        // The same descriptors give the same bytes.
        #expect(try apsule.run("docs", "--output", "Again").status == 0)
        for name in names { #expect(try apsule.read("Reference/\(name)") == apsule.read("Again/\(name)")) }
    }

    @Test func familiesAndOperationsAreShownAsText() throws {
        let page = try apsule.run("docs", "runtime")
        #expect(page.status == 0 && page.out.contains("host.runtime.supports(operation)"))
        #expect(!page.out.contains("\u{1b}") && !page.out.contains("`"))
        #expect(page.lines.allSatisfy { $0.count <= 120 && $0.last != " " })
        let operation = try apsule.run("docs", "timer.sleep")
        #expect(operation.out.hasPrefix("timer.sleep\n"))
        #expect(try apsule.run("help", "timer.sleep").out == operation.out)
        #expect(try apsule.run("docs", "timer.sleep", "--json").json?["positional"] == ["ms"])
        let unknown = try apsule.run("docs", "timr")
        #expect(unknown.status == 2 && unknown.err.contains("Did you mean timer?"))
        #expect(try apsule.run("docs").out.contains("  timer "))
    }

    @Test func rawRequestsStandBesideTheWrappers() throws {
        let family = try Descriptor([
            "apsule": 1, "family": "music", "version": "1.0.0", "summary": "A | table, `code`, <b> and *stars*.",
            "operations": [
                "api.request": [
                    "summary": "Anything.",
                    "raw": ["provider": "https://api.example.com", "methods": ["GET", "POST"], "path": "/v1/"],
                ],
                "search": [
                    "summary": "Finds songs.",
                    "arguments": [
                        "type": "object",
                        "properties": ["kind": ["enum": ["a|b", "c"], "description": "Of | which."]],
                    ],
                ],
            ],
        ])
        let pages = Dictionary(uniqueKeysWithValues: ReferenceBook.pages([family]).map { ($0.name, $0.text) })
        let page = try #require(pages["music.md"])
        let wrappers = try #require(page.firstRange(of: "| `search` |"))
        let raw = try #require(page.firstRange(of: "## Raw requests"))
        #expect(
            wrappers.lowerBound < raw.lowerBound
                && raw.lowerBound < (page.firstRange(of: "| `api.request` |")?.lowerBound ?? page.startIndex))
        #expect(page.contains(#"A \| table, \`code\`, \<b\> and \*stars\*."#))
        #expect(page.contains(#"| `kind?` | `"a\|b" \| "c"` | Of \| which. |"#))
        #expect(page.contains("| `methods` | `GET`, `POST` |"))
        #expect(pages["README.md"]?.contains("| 1 | `api.request` |") == true)
    }
}

@Suite struct ManualTests {
    let apsule: ApsuleTool
    init() throws { apsule = try ApsuleTool() }

    @Test func theManualIsThatOfThisProgram() throws {
        let page = String(
            decoding: try Data(contentsOf: ApsuleTool.checkout.appending(path: "Documentation/apsule.1")), as: UTF8.self
        )
        #expect(try apsule.run("docs", "--man").out == page, "apsule docs --man > Documentation/apsule.1")
    }

    @Test func everyCommandAndOptionIsInIt() throws {
        let page = try apsule.run("docs", "--man").out.replacing("\\", with: "")
        let names = try apsule.run("help").lines.filter { $0.hasPrefix("  ") }.compactMap {
            $0.split(separator: " ").first
        }
        #expect(names.count >= 9)
        for name in names {
            #expect(page.contains("fBapsule \(name)fR"))
            for word in try apsule.run("help", String(name)).out.split(whereSeparator: \.isWhitespace)
            where word.hasPrefix("--") {
                #expect(page.contains("fB\(word)fR"), "\(name) \(word)")
            }
        }
    }
}
