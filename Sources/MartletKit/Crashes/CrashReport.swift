import Foundation

/// A report that the signal handler wrote. The process was crashing, so the file may be incomplete or damaged, and
/// every value is checked.
struct CrashReport: Sendable {
    static let maximumSize = 1 << 20

    let signal: Int
    let code: Int32
    let faultAddress: UInt64
    let date: Date
    /// Innermost first.
    let frames: [UInt64]
    let images: [CodeImage]
    /// The scope at the crash; empty if it cannot be read.
    let scope: JSON
    /// Derived from the report, so that a report sent twice counts once.
    let eventID: String

    /// Nil if the file contains no report, or an incomplete one without a stack.
    init?(_ data: Data) {
        guard data.count <= Self.maximumSize else { return nil }
        var rest = data[...]
        var lines: [String: [[Substring]]] = [:]
        var context = Data()
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let words = String(decoding: rest[..<end], as: UTF8.self).split(separator: " ")
            rest = rest[rest.index(after: end)...]
            guard let name = words.first.map(String.init) else { continue }
            lines[name, default: []].append(Array(words.dropFirst()))
            if name == "context", let length = words.dropFirst().first.flatMap({ Int($0, radix: 16) }) {
                context = Data(rest.prefix(max(0, length)))
                rest = rest.dropFirst(max(0, length))
            }
        }
        func numbers(_ name: String) -> [UInt64] {
            (lines[name]?.first ?? []).map { UInt64($0, radix: 16) ?? 0 }
        }
        let (signal, time) = (numbers("signal"), numbers("time"))
        guard lines["martlet"]?.first == ["1"], signal.count == 3, time.count == 2 else { return nil }
        self.signal = Int(truncatingIfNeeded: signal[0])
        code = Int32(truncatingIfNeeded: signal[1])
        faultAddress = signal[2]
        date = Date(timeIntervalSince1970: Double(time[0]) + Double(time[1]) / 1e9)
        frames = Array(numbers("frames").filter { $0 > 0 }.prefix(256))
        images = (lines["image"] ?? []).prefix(1_024).compactMap { CodeImage($0) }
        scope = (try? JSON(parsing: context)) ?? [:]
        eventID = Self.digest(data)
    }

    var signalName: String {
        let names: [Int32: String] = [
            SIGABRT: "SIGABRT", SIGBUS: "SIGBUS", SIGFPE: "SIGFPE", SIGILL: "SIGILL", SIGSEGV: "SIGSEGV",
            SIGSYS: "SIGSYS", SIGTRAP: "SIGTRAP",
        ]
        return names[Int32(truncatingIfNeeded: signal)] ?? "Signal \(signal)"
    }

    /// Two FNV-1a hashes of 64 bits, as 32 hexadecimal digits.
    private static func digest(_ data: Data) -> String {
        [0xcbf2_9ce4_8422_2325, 0x8422_2325_cbf2_9ce4].map { (seed: UInt64) -> String in
            let hash = data.reduce(seed) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
            let text = String(hash, radix: 16)
            return String(repeating: "0", count: 16 - text.count) + text
        }.joined()
    }
}

/// A program or library in memory.
struct CodeImage: Sendable {
    let address: UInt64
    let size: UInt64
    /// The address it was linked for.
    let preferred: UInt64
    /// Mach-O UUID or ELF build id, in hexadecimal digits.
    let id: String
    let path: String

    init(address: UInt64, size: UInt64, preferred: UInt64, id: String, path: String) {
        self.address = address
        self.size = size
        self.preferred = preferred
        self.id = id
        self.path = path
    }

    /// Parses a line of a report. An image without an id has one word fewer.
    init?(_ words: [Substring]) {
        guard words.count >= 4, let address = UInt64(words[0], radix: 16), let size = UInt64(words[1], radix: 16),
            let preferred = UInt64(words[2], radix: 16)
        else { return nil }
        let isID = words[3].count % 2 == 0 && words[3].allSatisfy(\.isHexDigit)
        self.init(
            address: address, size: size, preferred: preferred, id: isID ? String(words[3]) : "",
            path: words.dropFirst(isID ? 4 : 3).joined(separator: " "))
    }

    func contains(_ address: UInt64) -> Bool { address >= self.address && address - self.address < size }

    /// The debug file's id in Sentry's protocol. For ELF, it is the first half of the build id as a little-endian GUID.
    var debugID: String? {
        let digits = Array(id.lowercased())
        guard digits.count >= 32 else { return nil }
        var bytes = (0..<16).map { String(digits[$0 * 2...$0 * 2 + 1]) }
        #if !canImport(Darwin)
        bytes = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15].map { bytes[$0] }
        #endif
        let groups = [0..<4, 4..<6, 6..<8, 8..<10, 10..<16]
        return groups.map { bytes[$0].joined() }.joined(separator: "-")
    }

    var json: JSON {
        var json: JSON = [
            "image_addr": .string(Self.hex(address)), "image_size": .number(JSONNumber(size)),
            "image_vmaddr": .string(Self.hex(preferred)), "code_file": .string(path),
        ]
        #if canImport(Darwin)
        json["type"] = "macho"
        #else
        json["type"] = "elf"
        json["code_id"] = id.isEmpty ? nil : .string(id)
        #endif
        json["debug_id"] = debugID.map(JSON.string)
        return json
    }

    static func hex(_ number: UInt64) -> String { "0x" + String(number, radix: 16) }
}
