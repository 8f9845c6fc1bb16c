/// The parts of a debug file for different processors, according to its headers. Nothing but headers is read, and
/// nothing in them is trusted: every offset is checked and every count limited.
enum ObjectFile {
    /// Why a file was refused, worded for its sender.
    struct Refusal: Error, Equatable {
        var reason: String
    }

    /// The parts of a file. A thin Mach-O, an ELF and a source bundle have exactly one.
    ///
    /// - Throws: `Refusal`, and errors of reading the source.
    static func parts(of source: ObjectSource) async throws -> [Part] {
        let magic = try await source.read(0, 4)
        switch magic {
        case [0xca, 0xfe, 0xba, 0xbe]: return try await MachO.fatParts(of: source, is64Bit: false)
        case [0xca, 0xfe, 0xba, 0xbf]: return try await MachO.fatParts(of: source, is64Bit: true)
        case [0x7f, 0x45, 0x4c, 0x46]: return [try await ELF.part(of: source)]
        case SourceBundle.magic:
            let bundle = try await SourceBundle(of: source)
            return [
                Part(
                    debugID: bundle.debugID, architecture: bundle.architecture, kind: .sources,
                    hasDebugInformation: false, address: 0,
                    range: source.range)
            ]
        default: return [try await MachO.part(of: source)]
        }
    }

    /// The part of a file for one processor.
    struct Part: Sendable, Equatable {
        var debugID: DebugID
        /// In Sentry's notation: `arm64`, `x86_64`, …
        var architecture: String
        var kind: Kind
        /// Whether the part contains DWARF. Otherwise it contains function names at most.
        var hasDebugInformation: Bool
        /// The address for which the part was linked.
        var address: UInt64
        /// The part's bytes within the file.
        var range: Range<Int>
    }

    enum Kind: String, Sendable {
        case dsym, executable, library, object, elf, sources, other
    }
}

/// A file, or a part of one, with random access.
struct ObjectSource: Sendable {
    /// Load commands, section headers and names never need more at once.
    static let maximumReadInBytes = 4 << 20

    /// The range within the file.
    let range: Range<Int>
    private let fetch: @Sendable (Range<Int>) async throws -> [UInt8]

    /// - Parameter fetch: Reads all of a range, which lies within the size.
    init(sizeInBytes: Int, _ fetch: @escaping @Sendable (Range<Int>) async throws -> [UInt8]) {
        range = 0..<sizeInBytes
        self.fetch = fetch
    }

    init(_ bytes: [UInt8]) {
        self.init(sizeInBytes: bytes.count) { Array(bytes[$0]) }
    }

    private init(range: Range<Int>, fetch: @escaping @Sendable (Range<Int>) async throws -> [UInt8]) {
        self.range = range
        self.fetch = fetch
    }

    /// A part of this source.
    ///
    /// - Throws: `ObjectFile.Refusal` if the part exceeds the source.
    func part(_ offset: UInt64, _ count: UInt64) throws -> ObjectSource {
        ObjectSource(range: try absoluteRange(offset, count), fetch: fetch)
    }

    /// - Throws: `ObjectFile.Refusal` if the range exceeds the source.
    func read(_ offset: UInt64, _ count: UInt64) async throws -> [UInt8] {
        let range = try absoluteRange(offset, count)
        guard range.count <= Self.maximumReadInBytes else {
            throw ObjectFile.Refusal(reason: "The headers are too large.")
        }
        return range.isEmpty ? [] : try await fetch(range)
    }

    private func absoluteRange(_ offset: UInt64, _ count: UInt64) throws -> Range<Int> {
        let (end, overflows) = offset.addingReportingOverflow(count)
        guard !overflows, end <= UInt64(range.count) else {
            throw ObjectFile.Refusal(reason: "The file is truncated, or its headers point outside it.")
        }
        return range.lowerBound + Int(offset)..<range.lowerBound + Int(end)
    }
}

/// Integers in bytes of a given byte order.
struct ObjectFields {
    let bytes: [UInt8]
    let isBigEndian: Bool

    /// - Throws: `ObjectFile.Refusal` if the integer exceeds the bytes.
    func number<Number: FixedWidthInteger & UnsignedInteger>(_ offset: Int, as _: Number.Type = Number.self) throws
        -> Number
    {
        let size = Number.bitWidth / 8
        guard offset >= 0, offset <= bytes.count - size else {
            throw ObjectFile.Refusal(reason: "The headers are truncated.")
        }
        var number: Number = 0
        for index in 0..<size {
            number =
                number << 8
                | Number(truncatingIfNeeded: bytes[isBigEndian ? offset + index : offset + size - 1 - index])
        }
        return number
    }

    func long(_ offset: Int) throws -> UInt64 { try number(offset) }
    func word(_ offset: Int) throws -> UInt32 { try number(offset) }
    func half(_ offset: Int) throws -> UInt16 { try number(offset) }

    /// A name of up to `length` bytes, ending before the first zero.
    ///
    /// - Throws: `ObjectFile.Refusal` if the range exceeds the bytes.
    func name(_ offset: Int, upTo length: Int) throws -> String {
        guard offset >= 0, length >= 0, offset <= bytes.count - length else {
            throw ObjectFile.Refusal(reason: "The headers are truncated.")
        }
        return String(decoding: bytes[offset..<offset + length].prefix { $0 != 0 }, as: UTF8.self)
    }
}
