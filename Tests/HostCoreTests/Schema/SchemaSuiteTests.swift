import ApsuleKit
import Testing

@testable import HostCore

/// The published cases of the JSON Schema Test Suite for the descriptor's vocabulary.
@Suite struct SchemaSuiteTests {
    @Test func everyPublishedCaseHasItsAnswer() throws {
        let groups = try JSON(parsing: Cases.bytes("json-schema.json")).arrayValue ?? []
        var checked = 0
        for group in groups {
            let schema = try #require(group["schema"])
            if group["refused"] == true {
                let error = try #require(throws: HostError.self, "\(schema.text)") { try Schema(schema) }
                #expect(error.code == "descriptor.invalid")
                continue
            }
            let compiled: Schema
            do { compiled = try Schema(schema) } catch {
                Issue.record("\(schema.text): \(error.message)")
                continue
            }
            for row in group["cases"]?.arrayValue ?? [] {
                let value = try #require(row[0])
                let mismatch = compiled.mismatch(in: value)
                #expect(
                    (mismatch == nil) == (row[1] == true),
                    "\(schema.text) with \(value.text): \(mismatch?.message ?? "fits")")
                checked += 1
            }
        }
        #expect(checked > 400)
    }
}
