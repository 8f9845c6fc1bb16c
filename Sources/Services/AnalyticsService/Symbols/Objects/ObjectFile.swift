/// What a file with debug information says of itself: its parts for different processors. Only its headers are read, and nothing in them is
/// trusted: every offset is checked, every count limited.
enum ObjectFile {
    /// Why something is no such file, in words for who sent it.
    struct Refusal: Error, Equatable {
        var reason: String
    }

    /// The parts, of which a Mach-O for one processor, an ELF and a bundle of sources have one.
    ///
    /// - Throws: `Refusal`; what reading throws.
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
                    debugID: bundle.debugID, architecture: bundle.architecture, kind: .sources, hasDebugInformation: false, address: 0,
                    range: source.range)
            ]
        default: return [try await MachO.part(of: source)]
        }
    }

    /// One processor's part of a file.
    struct Part: Sendable, Equatable {
        var debugID: DebugID
        /// As Sentry names it: `arm64`, `x86_64`, …
        var architecture: String
        var kind: Kind
        /// DWARF; without it there are the names of functions at most.
        var hasDebugInformation: Bool
        /// Where the part thinks it is loaded.
        var address: UInt64
        /// Where it lies in the file.
        var range: Range<Int>
    }

    enum Kind: String, Sendable {
        case dsym, executable, library, object, elf, sources, other
    }
}

/// A file, or a part of one, that is read here and there.
struct ObjectSource: Sendable {
    /// More at once is never needed: load commands, section headers, names.
    static let maximumReadInBytes = 4 << 20

    /// Within the file.
    let range: Range<Int>
    private let fetch: @Sendable (Range<Int>) async throws -> [UInt8]

    /// - Parameter fetch: reads a range that lies within the size, all of it.
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

    /// A part of this.
    ///
    /// - Throws: `ObjectFile.Refusal` when it does not lie within.
    func part(_ offset: UInt64, _ count: UInt64) throws -> ObjectSource {
        ObjectSource(range: try place(offset, count), fetch: fetch)
    }

    /// - Throws: `ObjectFile.Refusal` when it does not lie within.
    func read(_ offset: UInt64, _ count: UInt64) async throws -> [UInt8] {
        let place = try place(offset, count)
        guard place.count <= Self.maximumReadInBytes else { throw ObjectFile.Refusal(reason: "Its headers are larger than headers are.") }
        return place.isEmpty ? [] : try await fetch(place)
    }

    private func place(_ offset: UInt64, _ count: UInt64) throws -> Range<Int> {
        let (end, overflows) = offset.addingReportingOverflow(count)
        guard !overflows, end <= UInt64(range.count) else { throw ObjectFile.Refusal(reason: "It is cut off, or its headers point outside of it.") }
        return range.lowerBound + Int(offset)..<range.lowerBound + Int(end)
    }
}

/// Numbers in bytes, in an order.
struct ObjectFields {
    let bytes: [UInt8]
    let isBigEndian: Bool

    /// - Throws: `ObjectFile.Refusal` when they do not lie within.
    func number<Number: FixedWidthInteger & UnsignedInteger>(_ offset: Int, as _: Number.Type = Number.self) throws -> Number {
        let size = Number.bitWidth / 8
        guard offset >= 0, offset <= bytes.count - size else { throw ObjectFile.Refusal(reason: "Its headers are cut off.") }
        var number: Number = 0
        for index in 0..<size { number = number << 8 | Number(truncatingIfNeeded: bytes[isBigEndian ? offset + index : offset + size - 1 - index]) }
        return number
    }

    func long(_ offset: Int) throws -> UInt64 { try number(offset) }
    func word(_ offset: Int) throws -> UInt32 { try number(offset) }
    func half(_ offset: Int) throws -> UInt16 { try number(offset) }

    /// A name of up to `length` bytes, as long as it is without a zero.
    ///
    /// - Throws: `ObjectFile.Refusal` when they do not lie within.
    func name(_ offset: Int, upTo length: Int) throws -> String {
        guard offset >= 0, length >= 0, offset <= bytes.count - length else { throw ObjectFile.Refusal(reason: "Its headers are cut off.") }
        return String(decoding: bytes[offset..<offset + length].prefix { $0 != 0 }, as: UTF8.self)
    }
}
