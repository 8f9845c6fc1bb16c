/// A `numeric` in binary format: base-10000 digits, weight of the first digit, sign and display scale (`numeric_send`
/// in numeric.c).
struct PostgresNumeric: CustomStringConvertible {
    private let digits: [Int16]
    private let weight: Int
    private let sign: UInt16
    private let scale: Int

    init?(_ bytes: UnsafeRawBufferPointer) {
        var reader = ByteReader(bytes)
        guard let count = reader.read(Int16.self), let weight = reader.read(Int16.self),
            let sign = reader.read(UInt16.self),
            let scale = reader.read(Int16.self)
        else { return nil }
        var digits: [Int16] = []
        for _ in 0..<max(0, count) {
            guard let digit = reader.read(Int16.self) else { return nil }
            digits.append(digit)
        }
        self.digits = digits
        self.weight = Int(weight)
        self.sign = sign
        self.scale = Int(scale)
    }

    /// The value in PostgreSQL's text format.
    var description: String {
        switch sign {
        case 0xC000: return "NaN"
        case 0xD000: return "Infinity"
        case 0xF000: return "-Infinity"
        default: break
        }
        var text = sign == 0x4000 ? "-" : ""
        text += weight < 0 ? "0" : String(digit(0)) + (0..<weight).map { group($0 + 1) }.joined()
        guard scale > 0 else { return text }
        let groups = (scale + 3) / 4
        return text + "." + (0..<groups).map { group(weight + 1 + $0) }.joined().prefix(scale)
    }

    private func digit(_ index: Int) -> Int16 {
        digits.indices.contains(index) ? digits[index] : 0
    }

    private func group(_ index: Int) -> String {
        let text = String(digit(index))
        return String(repeating: "0", count: 4 - text.count) + text
    }
}
