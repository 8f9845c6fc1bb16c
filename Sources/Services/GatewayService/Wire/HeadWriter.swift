/// Writes a head into memory whose size was calculated in advance.
struct HeadWriter {
    private let memory: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    init(_ memory: UnsafeMutableRawBufferPointer) {
        self.memory = memory
    }

    @inline(__always)
    mutating func write(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        precondition(count + bytes.count <= memory.count)
        (memory.baseAddress.unsafelyUnwrapped + count).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }

    @inline(__always)
    mutating func write(_ text: StaticString) {
        write(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    @inline(__always)
    mutating func write(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { write($0) }
    }

    mutating func write(_ text: String) {
        var text = text
        text.withUTF8 { write(UnsafeRawBufferPointer($0)) }
    }

    mutating func write(_ number: Int64) {
        withUnsafeTemporaryAllocation(byteCount: 20, alignment: 1) { digits in
            var start = 20
            var rest = UInt64(number)
            repeat {
                start -= 1
                digits[start] = UInt8(truncatingIfNeeded: rest % 10) + 0x30
                rest /= 10
            } while rest > 0
            write(UnsafeRawBufferPointer(rebasing: digits[start...]))
        }
    }

    /// Writes the lines of all fields that satisfy `isKept`. Adjacent lines are copied together.
    @inline(__always)
    mutating func write(_ fields: [Field], of bytes: UnsafeRawBufferPointer, where isKept: (Field) -> Bool) {
        var run = 0..<0
        for field in fields where isKept(field) {
            let line = field.line
            if run.upperBound == line.lowerBound, !run.isEmpty {
                run = run.lowerBound..<line.upperBound
            } else {
                if !run.isEmpty { write(UnsafeRawBufferPointer(rebasing: bytes[run])) }
                run = line
            }
        }
        if !run.isEmpty { write(UnsafeRawBufferPointer(rebasing: bytes[run])) }
    }
}
