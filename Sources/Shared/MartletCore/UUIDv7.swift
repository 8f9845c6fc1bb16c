public import Foundation

/// Time-ordered ids (RFC 9562 §5.7): 48 bits of Unix milliseconds, then 74 random bits.
///
/// New rows are added at the end of a primary key index instead of being scattered over it.
public enum UUIDv7 {
    /// Generates an id of 36 lower-case characters.
    public static func make(at time: Date = Date()) -> String {
        var generator = SystemRandomNumberGenerator()
        let milliseconds = UInt64(max(0, time.timeIntervalSince1970 * 1000))
        let high = milliseconds << 16 | 0x7000 | generator.next() & 0x0fff
        let low = generator.next() & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000
        return text(high, low)
    }

    private static func text(_ high: UInt64, _ low: UInt64) -> String {
        String(unsafeUninitializedCapacity: 36) { buffer in
            var position = 0
            for index in 0..<32 {
                if index == 8 || index == 12 || index == 16 || index == 20 {
                    buffer[position] = UInt8(ascii: "-")
                    position += 1
                }
                let half = index < 16 ? high : low
                let nibble = UInt8(half >> UInt64(60 - index % 16 * 4) & 15)
                buffer[position] = nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
                position += 1
            }
            return 36
        }
    }
}
