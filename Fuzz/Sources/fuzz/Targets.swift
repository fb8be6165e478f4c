import ApsuleKit

@testable import HostCore

/// The parsers that read what others wrote.
///
/// Each runs one input and traps where a promise is broken.
enum FuzzTarget: String, CaseIterable {
    case json, schema, pattern, descriptor, elf, manifest, wire

    func run(_ bytes: [UInt8]) {
        switch self {
        case .json: Self.json(bytes)
        case .schema: Self.schema(bytes)
        case .pattern: Self.pattern(bytes)
        case .descriptor: Self.descriptor(bytes)
        case .elf: Self.elf(bytes)
        case .manifest: Self.manifest(bytes)
        case .wire: Self.wire(bytes)
        }
    }

    /// Validator and parser agree; what was read is written so that it reads back.
    private static func json(_ bytes: [UInt8]) {
        let refusal = bytes.withUnsafeBufferPointer { JSON.isWellFormed($0) }
        do throws(JSON.Failure) {
            let value = try JSON(parsing: bytes)
            precondition(refusal == nil, "the validator refuses what the parser takes")
            let compact = try? JSON(parsing: value.bytes)
            precondition(compact?.equals(value) == true, "compact JSON does not read back")
            let pretty = try? JSON(parsing: value.pretty())
            precondition(pretty?.equals(value) == true, "pretty JSON does not read back")
            let canonical = value.canonical
            guard let again = try? JSON(parsing: canonical) else { fatalError("canonical JSON does not read back") }
            precondition(JSON.same(again.canonical, canonical), "canonical JSON is not")
            precondition(again.equals(value), "canonical JSON means something else")
        } catch {
            precondition(refusal == error, "the validator takes what the parser refuses")
            precondition(0...bytes.count ~= error.offset)
            _ = error.position(in: bytes)
        }
    }

    /// `[schema, value, …]`.
    private static func schema(_ bytes: [UInt8]) {
        guard let parts = (try? JSON(parsing: bytes))?.arrayValue, let first = parts.first else { return }
        do throws(HostError) {
            let schema = try Schema(first)
            for value in parts.dropFirst() {
                let mismatch = schema.mismatch(in: value)
                precondition(mismatch == schema.mismatch(in: value))
                if let mismatch { precondition(!mismatch.message.isEmpty) }
            }
        } catch {
            precondition(error.code == "descriptor.invalid")
        }
    }

    /// A pattern, a zero byte, a text.
    private static func pattern(_ bytes: [UInt8]) {
        let parts = bytes.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
        guard let pattern = try? Pattern(String(decoding: parts[0], as: UTF8.self)) else { return }
        _ = pattern.matches(parts.count > 1 ? String(decoding: parts[1].prefix(4_096), as: UTF8.self) : "")
    }

    private static func descriptor(_ bytes: [UInt8]) {
        do throws(HostError) {
            let descriptor = try Descriptor(parsing: bytes, file: "fuzz")
            for operation in descriptor.operations { _ = operation.arguments.mismatch(in: descriptor.json) }
        } catch {
            precondition(error.code == "descriptor.invalid", error.code)
        }
    }

    private static func elf(_ bytes: [UInt8]) {
        do throws(HostError) {
            let image = try PluginImage(bytes)
            precondition(!image.descriptor.isEmpty && image.descriptor.count <= PluginImage.largestDescriptor)
            try image.check(family: "demo")
        } catch {
            precondition(error.code.hasPrefix("plugin."), error.code)
        }
    }

    private static let catalogue = PermissionCatalogue()

    private static func manifest(_ bytes: [UInt8]) {
        do throws(HostError) {
            _ = try Manifest(parsing: bytes, file: "app.json", catalogue: catalogue)
        } catch {
            precondition(error.code.hasPrefix("manifest."), error.code)
        }
    }

    /// What a plugin-host sends, and what it is sent; what was taken is sent on and means the same.
    private static func wire(_ bytes: [UInt8]) {
        var reader = FrameReader()
        reader.append(bytes)
        do throws(HostError) {
            while let piece = try reader.next() {
                let frame = Frame(piece.kind, piece.body)
                if let report = try? PluginReport(frame), let again = try? report.frame() {
                    precondition((try? PluginReport(again)) != nil, "a report does not read back")
                }
                if let request = try? PluginRequest(frame), let again = try? request.frame() {
                    precondition((try? PluginRequest(again)) != nil, "a request does not read back")
                }
            }
        } catch {
            precondition(error.code == "host.wire_malformed", error.code)
        }
    }
}
