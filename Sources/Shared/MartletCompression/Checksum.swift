import CZlib

/// CRC-32 (ISO 3309), to detect incompletely written records.
public enum Checksum {
    public static func crc32(_ bytes: some Collection<UInt8>) -> UInt32 {
        let sum = bytes.withContiguousStorageIfAvailable { CZlib.crc32(0, $0.baseAddress, UInt32($0.count)) }
        return UInt32(
            truncatingIfNeeded: sum
                ?? Array(bytes).withUnsafeBufferPointer { CZlib.crc32(0, $0.baseAddress, UInt32($0.count)) })
    }
}
