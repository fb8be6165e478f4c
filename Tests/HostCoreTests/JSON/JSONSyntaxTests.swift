import ApsuleKit
import Foundation
import Testing

@testable import HostCore

/// The published cases of JSONTestSuite; the table is read with Foundation, not with what is tested.
@Suite struct JSONSyntaxTests {
    struct Case: Decodable {
        let name: String, suite: String, accepted: Bool
        let text: String?
        let base64: String?
        let `repeat`: Repeat?

        struct Repeat: Decodable {
            let unit: String
            let count: Int

            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                (unit, count) = (try container.decode(String.self), try container.decode(Int.self))
            }
        }

        var bytes: [UInt8] {
            if let text { return Array(text.utf8) }
            if let base64 { return [UInt8](Data(base64Encoded: base64) ?? Data()) }
            return `repeat`.map { Array(String(repeating: $0.unit, count: $0.count).utf8) } ?? []
        }
    }

    static let cases = Result { try JSONDecoder().decode([Case].self, from: Data(Cases.bytes("json-syntax.json"))) }

    @Test func everyPublishedCaseHasItsAnswer() throws {
        let cases = try Self.cases.get()
        #expect(cases.count == 318)
        for row in cases {
            if row.suite != "i" { #expect(row.accepted == (row.suite == "y"), "\(row.name)") }
            let value = Result { () throws(JSON.Failure) in try JSON(parsing: row.bytes) }
            let failure = row.bytes.withUnsafeBufferPointer { JSON.isWellFormed($0) }
            switch value {
            case .success(let json):
                #expect(row.accepted, "\(row.name) became \(json.text)")
                #expect(failure == nil, "\(row.name): the validator refuses it")
                #expect(try JSON(parsing: json.bytes).equals(json), "\(row.name): does not read back")
                #expect(try JSON(parsing: json.pretty()).equals(json), "\(row.name): does not read back when pretty")
            case .failure(let error):
                #expect(!row.accepted, "\(row.name): \(error.message)")
                #expect(failure == error, "\(row.name): the validator gives another reason")
                #expect(0...row.bytes.count ~= error.offset, "\(row.name): points outside")
            }
        }
    }

    /// What both accept must mean the same.
    @Test func acceptedCasesReadAsFoundationReadsThem() throws {
        var compared = 0
        for row in try Self.cases.get() where row.accepted {
            guard let theirs = try? JSONSerialization.jsonObject(with: Data(row.bytes), options: .fragmentsAllowed)
            else {
                continue
            }
            #expect(matches(try JSON(parsing: row.bytes), theirs), "\(row.name)")
            compared += 1
        }
        #expect(compared > 90)
    }

    private func matches(_ ours: JSON, _ theirs: Any) -> Bool {
        switch ours {
        case .null: theirs is NSNull
        case .bool(let value): (theirs as? NSNumber)?.boolValue == value
        case .int(let value): (theirs as? NSNumber)?.int64Value == value
        // Foundation rounds some numbers twice: its last bits are off.
        case .double(let value): abs(((theirs as? NSNumber)?.doubleValue ?? .nan) - value) <= abs(value) * 1e-14
        case .string(let value): (theirs as? String).map { Array($0.utf8) } == Array(value.utf8)
        case .array(let elements):
            (theirs as? [Any]).map { $0.count == elements.count && zip(elements, $0).allSatisfy(matches) } ?? false
        case .object(let members):
            (theirs as? [String: Any]).map { dictionary in
                dictionary.count == members.count
                    && members.allSatisfy { member in dictionary[member.key].map { matches(member.value, $0) } ?? false
                    }
            } ?? false
        }
    }
}
