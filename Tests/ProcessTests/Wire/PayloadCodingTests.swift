import ApsuleKit
import Foundation
import Testing

@testable import HostCore

struct PayloadCodingTests {
    private func encode(_ payload: Payload?) throws -> (body: [UInt8], files: [OwnedFile]) {
        var body = WireEncoder()
        var files: [OwnedFile] = []
        try PayloadCoding.encode(payload, into: &body, files: &files)
        return (body.bytes, files)
    }

    private func decode(_ body: [UInt8], _ files: [OwnedFile]) throws -> Payload? {
        var decoder = WireDecoder(body)
        var files = files[...]
        let payload = try PayloadCoding.decode(&decoder, files: &files)
        try decoder.finish()
        return payload
    }

    private func bytes(_ count: Int, _ seed: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 31 &+ seed) >> 3) }
    }

    /// Sizes around the border between the frame and shared memory, alone and together.
    @Test func keepsEveryPieceByteForByte() throws {
        let border = PayloadCoding.inlinePiece
        let cases: [(json: Int, blobs: [Int], files: Int)] = [
            (0, [], 0), (4, [], 0), (border, [], 0), (border + 1, [], 1), (1 << 20, [], 1), (4, [0], 0),
            (4, [0, 0, 0], 0),
            (4, [border], 0), (4, [border + 1], 1), (4, [1, 1 << 20, 0, 5, border + 1, border], 1),
            (border + 1, [7], 1),
            // The frame is full after four pieces of this size: the rest goes outside.
            (4, Array(repeating: border - 1, count: 9), 1), (10, Array(repeating: 3, count: 20_000), 0),
        ]
        for (json, blobs, files) in cases {
            let payload = Payload(
                json: bytes(json, 1), blobs: blobs.enumerated().map { Blob(bytes($0.element, $0.offset)) })
            let encoded = try encode(payload)
            #expect(encoded.files.count == files, "\(json) \(blobs.prefix(9))")
            #expect(encoded.body.count < FrameReader.maximumBody - 4_096)
            let decoded = try #require(try decode(encoded.body, encoded.files))
            #expect(decoded.json == payload.json)
            #expect(decoded.blobs.count == blobs.count)
            for (index, blob) in decoded.blobs.enumerated() {
                #expect(blob.withBytes { Array($0) } == bytes(blobs[index], index))
            }
        }
        #expect(try decode(encode(nil).body, []) == nil)
    }

    @Test func refusesWhatIsTooLarge() throws {
        let large = Blob([UInt8](repeating: 0, count: 64 << 20))
        for payload in [
            Payload(json: [UInt8](repeating: 0, count: (8 << 20) + 1)),
            Payload(json: [], blobs: Array(repeating: Blob([]), count: 40_000)),
            Payload(json: [], blobs: Array(repeating: large, count: 5)),
        ] {
            let error = #expect(throws: HostError.self) { try encode(payload) }
            #expect(error?.code == "host.payload_too_large")
        }
    }

    /// A blob outlives the payload, the frame and the descriptor it came by; the memory goes with the last one.
    @Test func mapsLargeBlobsUntilTheLastOneGoes() throws {
        // A size that no other test uses, so that these are the mappings that are counted.
        let size = 3 << 20
        func mappings() throws -> Int {
            // Of a line like `7f0000-7f1000 r--s 00000000 00:01 7 /memfd:apsule (deleted)` the length.
            try String(contentsOfFile: "/proc/self/maps", encoding: .utf8).split(separator: "\n").count { line in
                let range = line.split(separator: " ")[0].split(separator: "-").compactMap { Int($0, radix: 16) }
                return line.contains("memfd:apsule") && range[1] - range[0] == 2 * size
            }
        }
        var blob: Blob?
        do {
            let encoded = try encode(Payload(json: [], blobs: [Blob(bytes(size, 3)), Blob(bytes(size, 4))]))
            blob = try decode(encoded.body, encoded.files)?.blobs[1]
        }
        #expect(try mappings() == 1)
        #expect(blob?.withBytes { Array($0) } == bytes(size, 4))
        blob = nil
        #expect(try mappings() == 0)
    }

    /// A script writes into the blobs it gets: neither their sender nor another receiver may see that.
    @Test func whoWritesToABlobWritesToItsOwnPages() throws {
        let size = 200_000
        let encoded = try encode(Payload(json: [], blobs: [Blob(bytes(size, 5))]))
        let (first, second) = (
            try #require(try decode(encoded.body, encoded.files)?.blobs[0]),
            try #require(try decode(encoded.body, encoded.files)?.blobs[0])
        )
        #expect(first.isOwnMemory)
        first.withBytes {
            _ = UnsafeMutableRawBufferPointer(mutating: $0).initializeMemory(as: UInt8.self, repeating: 0)
        }
        #expect(first.withBytes { $0.allSatisfy { $0 == 0 } })
        #expect(second.withBytes { Array($0) } == bytes(size, 5))
    }

    @Test func refusesMemoryThatIsNotWhatItSays() throws {
        let encoded = try encode(Payload(json: [], blobs: [Blob(bytes(100_000, 0))]))
        // Without the file, with a file that is too short, one that can still change, and one that is no memory.
        #expect(throws: HostError.self) { try decode(encoded.body, []) }
        let short = try encode(Payload(json: [], blobs: [Blob(bytes(99_999, 0))]))
        #expect(throws: HostError.self) { try decode(encoded.body, short.files) }
        let (socket, _) = try OwnedFile.socketPair()
        #expect(throws: HostError.self) { try decode(encoded.body, [socket]) }
        let path = FileManager.default.temporaryDirectory.appending(path: "apsule-\(UUID())").path
        #expect(FileManager.default.createFile(atPath: path, contents: Data(bytes(100_000, 0))))
        defer { unlink(path) }
        #expect(throws: HostError.self) { try decode(encoded.body, [OwnedFile(open(path, O_RDWR))]) }
        // Another number of blobs than the sizes say.
        var forged = encoded.body
        forged[1] = 200
        #expect(throws: HostError.self) { try decode(forged, encoded.files) }
    }
}
