/// Identifies a request in logs, in errors and in calls to services.
enum RequestID {
    /// Sent by the client.
    case given([UInt8])
    /// Generated: 128 bits, written as 32 hexadecimal digits.
    case made(UInt64, UInt64)

    static let maximumBytes = 64

    /// Accepts a client's id of 1 to 64 characters from `A-Za-z0-9._-`.
    init?(given bytes: UnsafeRawBufferPointer) {
        guard (1...Self.maximumBytes).contains(bytes.count), ByteSet.requestID.containsAll(bytes) else { return nil }
        self = .given(Array(bytes))
    }

    /// Generates ids from a random seed. They must be unique but need not be secret.
    struct Generator {
        private var state = UInt64.random(in: .min ... .max)
        private let prefix = UInt64.random(in: .min ... .max)

        mutating func next() -> RequestID {
            // SplitMix64 (Steele, Lea, Flood 2014).
            state &+= 0x9e37_79b9_7f4a_7c15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
            return .made(prefix, mixed ^ (mixed >> 31))
        }
    }

    var text: String {
        withUnsafeTemporaryAllocation(byteCount: Self.maximumBytes, alignment: 8) { memory in
            var writer = HeadWriter(memory)
            writer.write(self)
            return String(decoding: memory[..<writer.count], as: UTF8.self)
        }
    }
}

extension HeadWriter {
    mutating func write(_ id: RequestID) {
        switch id {
        case .given(let bytes):
            write(bytes)
        case .made(let high, let low):
            writeHexadecimal(high)
            writeHexadecimal(low)
        }
    }

    private mutating func writeHexadecimal(_ number: UInt64) {
        // Spreads the nibbles over eight bytes, then converts all of them to digits at once.
        func digits(_ half: UInt64) -> UInt64 {
            var x = half & 0xffff_ffff
            x = (x | x << 16) & 0x0000_ffff_0000_ffff
            x = (x | x << 8) & 0x00ff_00ff_00ff_00ff
            x = (x | x << 4) & 0x0f0f_0f0f_0f0f_0f0f
            let letters = ((x &+ 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101
            return (x &+ 0x3030_3030_3030_3030 &+ letters &* 0x27).bigEndian
        }
        var words = (digits(number >> 32), digits(number))
        withUnsafeBytes(of: &words) { write($0) }
    }
}
