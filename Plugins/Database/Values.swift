import ApsuleKit
import ApsuleSQLite

/// The values of a call: one set, or several.
enum Parameters {
    case one([SQLiteValue])
    case several([[SQLiteValue]])

    /// - Throws: `host.invalid_argument` with the value's path.
    init(_ arguments: Arguments) throws(HostError) {
        guard arguments.json != .null else {
            self = .one([])
            return
        }
        guard case .array(let elements) = arguments.json else { throw arguments.mismatch("array") }
        if elements.contains(where: { $0.arrayValue != nil }) {
            let sets = try [[Parameter]](arguments)
            self = .several(sets.map { $0.map(\.value) })
        } else {
            self = .one(try [Parameter](arguments).map(\.value))
        }
    }
}

/// One value as JavaScript has it: null, a boolean (1 or 0), a number, a BigInt, text, or a `Uint8Array`.
struct Parameter: ArgumentValue {
    let value: SQLiteValue

    init(_ arguments: Arguments) throws(HostError) {
        switch arguments.json {
        case .null: value = .null
        case .bool(let flag): value = .int(flag ? 1 : 0)
        case .int(let number): value = .int(number)
        case .double(let number):
            // Whole numbers are integers to SQLite, however JavaScript writes them.
            value = Int64(exactly: number).map { .int($0) } ?? .double(number)
        case .string(let text): value = .text(text)
        case .object where arguments.json["$blob"] != nil: value = .blob(try Bytes(arguments).bytes)
        default: throw arguments.mismatch("null, boolean, number, text or Uint8Array")
        }
    }
}

/// The rows of an answer.
struct Rows {
    var message = Message()
    private(set) var objects: [JSON] = []
    private var columns: [String] = []
    private var size = 0
    private var blobSize = 0

    /// What an answer may have, less what stands around the values.
    private static let greatest = 7 << 20
    private static let greatestBlobs = 128 << 20
    private static let mostBlobs = 100_000

    var hasColumns: Bool { !columns.isEmpty }

    /// - Throws: `database.duplicate_column`: one of two values could not be told.
    mutating func name(_ columns: [String]) throws(HostError) {
        var seen: Set<[UInt8]> = []
        for column in columns where !seen.insert(Array(column.utf8)).inserted {
            throw HostError(
                "database.duplicate_column", "Two columns are called \(column).", details: ["column": .string(column)])
        }
        // A column is no sign of binary data, whatever it is called.
        self.columns = columns.map { $0.utf8.first == UInt8(ascii: "$") ? "$" + $0 : $0 }
    }

    /// - Throws: `database.result_too_large`, `not_finite`.
    mutating func add(_ row: SQLiteRow) throws(HostError) {
        var members: [JSON.Member] = []
        members.reserveCapacity(columns.count)
        size += 2
        for (column, value) in zip(columns, row.values) {
            size += column.utf8.count + 6
            members.append(.init(column, try json(value, column)))
        }
        guard size <= Self.greatest, blobSize <= Self.greatestBlobs, message.blobs.count <= Self.mostBlobs else {
            throw HostError(
                "database.result_too_large", "The rows are more than an answer may have, at row \(objects.count + 1).",
                details: ["row": .int(Int64(objects.count + 1))])
        }
        objects.append(.object(members))
    }

    private mutating func json(_ value: SQLiteValue, _ column: String) throws(HostError) -> JSON {
        switch value {
        case .null: return .null
        case .int(let number):
            size += 20
            return .int(number)
        case .double(let number):
            size += 24
            guard number.isFinite else {
                throw HostError(
                    "database.not_finite", "\(column) is infinite in row \(objects.count + 1).",
                    details: ["column": .string(column), "row": .int(Int64(objects.count + 1))])
            }
            return .double(number)
        case .text(let text):
            size += text.utf8.count + 2
            return .string(text)
        case .blob(let bytes):
            blobSize += bytes.count
            size += 16
            return message.attach(bytes)
        }
    }
}
