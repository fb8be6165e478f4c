import ApsuleKit

/// What the dynamic loader reads: needed libraries, search paths, exported symbols.
struct ELFDynamic: Sendable {
    private(set) var needed: [String] = []
    private(set) var runPath: String?
    private(set) var isExecutable = false

    private let file: ELFFile
    private var symbols: UInt64 = 0
    private var strings: (address: UInt64, size: UInt64) = (0, 0)
    private var hash: UInt64 = 0
    private var gnuHash: UInt64 = 0

    private enum Tag {
        static let needed: UInt64 = 1, hash: UInt64 = 4, strings: UInt64 = 5, symbols: UInt64 = 6
        static let stringSize: UInt64 = 10, rpath: UInt64 = 15, runpath: UInt64 = 29
        static let gnuHash: UInt64 = 0x6FFF_FEF5, flags1: UInt64 = 0x6FFF_FFFB
    }

    init(_ file: ELFFile) throws(HostError) {
        self.file = file
        guard let segment = file.segments.first(where: { $0.type == ELFFile.dynamic }) else {
            throw ELFFile.damaged("it has no dynamic section")
        }
        guard segment.fileSize <= 1 << 20, let table = file.source.read(segment.offset, segment.fileSize) else {
            throw ELFFile.truncated(file.source, needs: segment.offset &+ segment.fileSize)
        }
        var names: [UInt64] = []
        var path: UInt64?
        for entry in stride(from: 0, to: table.bytes.count, by: 16) {
            let tag: UInt64 = table.integer(entry)
            let value: UInt64 = table.integer(entry + 8)
            if tag == 0 { break }
            switch tag {
            case Tag.needed: names.append(value)
            case Tag.rpath, Tag.runpath: path = value
            case Tag.strings: strings.address = value
            case Tag.stringSize: strings.size = value
            case Tag.symbols: symbols = value
            case Tag.hash: hash = value
            case Tag.gnuHash: gnuHash = value
            case Tag.flags1: isExecutable = value & 0x0800_0000 != 0
            default: break
            }
        }
        guard names.count <= 1024 else { throw ELFFile.damaged("it needs more than 1,024 libraries") }
        for name in names {
            guard let name = string(name) else { throw ELFFile.damaged("the name of a needed library is missing") }
            needed.append(name)
        }
        if let path { runPath = string(path) ?? "?" }
    }

    private func string(_ offset: UInt64, longest: UInt64 = 4096) -> String? {
        guard offset < strings.size, !strings.address.addingReportingOverflow(offset).overflow else { return nil }
        let address = strings.address + offset
        guard let (_, available) = file.offset(of: address) else { return nil }
        return file.read(address: address, min(available, strings.size - offset, longest))?.text(0)
    }

    // MARK: Symbols

    /// Whether the library exports a function of this name, found as the loader finds it.
    func exports(_ name: String) -> Bool {
        gnuHash != 0 ? isInGNUTable(name) : hash != 0 && isInTable(name)
    }

    /// Chains are a few symbols long; a longer one is a loop, or made to cost time.
    private static let longestChain = 1024

    /// The hash table of GNU, see
    /// https://sourceware.org/gnu-gabi/program-loading-and-dynamic-linking.txt .
    private func isInGNUTable(_ name: String) -> Bool {
        guard let header = file.read(address: gnuHash, 16) else { return false }
        let buckets: UInt32 = header.integer(0)
        let first: UInt32 = header.integer(4)
        let bloom: UInt32 = header.integer(8)
        guard buckets > 0 else { return false }
        let wanted = name.utf8.reduce(5381 as UInt32) { $0 &* 33 &+ UInt32($1) }
        let bucketTable = gnuHash &+ 16 &+ UInt64(bloom) * 8
        let chainTable = bucketTable &+ UInt64(buckets) * 4
        var index: UInt32 = word(bucketTable &+ UInt64(wanted % buckets) * 4) ?? 0
        guard index >= first else { return false }
        for _ in 0..<Self.longestChain {
            guard let found = word(chainTable &+ UInt64(index - first) * 4) else { return false }
            if found | 1 == wanted | 1, isFunction(index, name) { return true }
            if found & 1 == 1 || index == .max { return false }
            index += 1
        }
        return false
    }

    /// The hash table of System V, see
    /// https://refspecs.linuxfoundation.org/elf/gabi4+/ch5.dynamic.html#hash .
    private func isInTable(_ name: String) -> Bool {
        guard let buckets = word(hash), buckets > 0 else { return false }
        var wanted: UInt32 = 0
        for byte in name.utf8 {
            wanted = (wanted << 4) &+ UInt32(byte)
            let high = wanted & 0xF000_0000
            wanted = (wanted ^ high >> 24) & ~high
        }
        var index = word(hash &+ 8 &+ UInt64(wanted % buckets) * 4) ?? 0
        for _ in 0..<Self.longestChain where index != 0 {
            if isFunction(index, name) { return true }
            index = word(hash &+ 8 &+ UInt64(buckets) * 4 &+ UInt64(index) * 4) ?? 0
        }
        return false
    }

    private func word(_ address: UInt64) -> UInt32? { file.read(address: address, 4)?.integer(0) }

    /// Whether the symbol is a defined, visible function of this name.
    private func isFunction(_ index: UInt32, _ name: String) -> Bool {
        guard let symbol = file.read(address: symbols &+ UInt64(index) * 24, 24) else { return false }
        let binding = symbol.bytes[4] >> 4
        let visibility = symbol.bytes[5] & 3
        return symbol.bytes[4] & 15 == 2 && (binding == 1 || binding == 2) && (visibility == 0 || visibility == 3)
            && symbol.integer(6, as: UInt16.self) != 0
            && string(UInt64(symbol.integer(0, as: UInt32.self)), longest: UInt64(name.utf8.count) + 1) == name
    }
}
