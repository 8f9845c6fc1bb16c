import MartletCore

/// Splits a JSON array into the texts of its elements.
///
/// Only tracks brackets and strings; the caller must check whether an element is valid JSON. An element with invalid
/// contents is one bad record. If the end of an element cannot be determined, the whole file is invalid.
struct JSONArraySplitter: RecordSplitter {
    private enum Place {
        case start
        case beforeElement(isFirst: Bool)
        case inElement, afterElement, end
    }

    private var place = Place.start
    private var line = 1
    private var startLine = 1
    private var element: [UInt8] = []
    private var size = 0
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    private var byteOrderMark = ByteOrderMark()

    mutating func feed(_ bytes: some Sequence<UInt8>) throws(FileFault) -> [RawRecord] {
        var records: [RawRecord] = []
        for byte in bytes {
            if byteOrderMark.skips(byte) { continue }
            try take(byte, &records)
            if byte == UInt8(ascii: "\n") { line += 1 }
        }
        return records
    }

    mutating func finish() throws(FileFault) -> [RawRecord] {
        guard case .end = place else { throw FileFault(line: line, reason: "The file ends before the array does.") }
        return []
    }

    private mutating func take(_ byte: UInt8, _ records: inout [RawRecord]) throws(FileFault) {
        let isBlank = byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09
        switch place {
        case .start:
            if isBlank { return }
            guard byte == UInt8(ascii: "[") else {
                throw FileFault(line: line, reason: "Expected a JSON array, which begins with [.")
            }
            place = .beforeElement(isFirst: true)
        case .beforeElement(let isFirst):
            if isBlank { return }
            if byte == UInt8(ascii: "]"), isFirst { return place = .end }
            guard byte != UInt8(ascii: ","), byte != UInt8(ascii: "]") else {
                let found = byte == UInt8(ascii: ",") ? "a comma" : "]"
                throw FileFault(line: line, reason: "Expected an element of the array, found \(found).")
            }
            begin()
            try takeInElement(byte, isBlank, &records)
        case .inElement: try takeInElement(byte, isBlank, &records)
        case .afterElement:
            if isBlank { return }
            switch byte {
            case UInt8(ascii: ","): place = .beforeElement(isFirst: false)
            case UInt8(ascii: "]"): place = .end
            default: throw FileFault(line: line, reason: "Expected a comma or ] after an element.")
            }
        case .end:
            guard isBlank else { throw FileFault(line: line, reason: "There is text after the array.") }
        }
    }

    private mutating func begin() {
        place = .inElement
        startLine = line
        element.removeAll(keepingCapacity: true)
        size = 0
        depth = 0
        isInString = false
        isEscaped = false
    }

    private mutating func takeInElement(_ byte: UInt8, _ isBlank: Bool, _ records: inout [RawRecord]) throws(FileFault)
    {
        if isInString {
            keep(byte)
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isInString = false
            }
            return
        }
        switch byte {
        case UInt8(ascii: "\""):
            isInString = true
            keep(byte)
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            depth += 1
            keep(byte)
        case UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"):
            guard depth == 0 else {
                if byte != UInt8(ascii: ",") { depth -= 1 }
                keep(byte)
                if depth == 0, byte != UInt8(ascii: ",") { end(&records) }
                return
            }
            // After a number or word.
            guard byte != UInt8(ascii: "}") else {
                throw FileFault(line: line, reason: "A } has no matching {.")
            }
            end(&records)
            place = byte == UInt8(ascii: ",") ? .beforeElement(isFirst: false) : .end
        default:
            if isBlank, depth == 0 { end(&records) } else { keep(byte) }
        }
    }

    private mutating func keep(_ byte: UInt8) {
        size += 1
        if size <= TransferLimits.recordSizeInBytes { element.append(byte) }
    }

    private mutating func end(_ records: inout [RawRecord]) {
        let isTooLarge = size > TransferLimits.recordSizeInBytes
        records.append(RawRecord(line: startLine, content: isTooLarge ? .bad(tooLarge) : .json(element)))
        place = .afterElement
    }
}

/// Splits JSON Lines: one object per line, without blank lines.
struct JSONLinesSplitter: RecordSplitter {
    private var line = 1
    private var text: [UInt8] = []
    private var size = 0
    private var isBlank = true
    private var byteOrderMark = ByteOrderMark()

    mutating func feed(_ bytes: some Sequence<UInt8>) throws(FileFault) -> [RawRecord] {
        var records: [RawRecord] = []
        for byte in bytes {
            if byteOrderMark.skips(byte) { continue }
            if byte == UInt8(ascii: "\n") {
                end(&records)
                line += 1
                continue
            }
            size += 1
            if size <= TransferLimits.recordSizeInBytes { text.append(byte) }
            if byte != 0x20 && byte != 0x09 && byte != 0x0d { isBlank = false }
        }
        return records
    }

    mutating func finish() throws(FileFault) -> [RawRecord] {
        var records: [RawRecord] = []
        end(&records)
        return records
    }

    private mutating func end(_ records: inout [RawRecord]) {
        if !isBlank {
            let isTooLarge = size > TransferLimits.recordSizeInBytes
            records.append(RawRecord(line: line, content: isTooLarge ? .bad(tooLarge) : .json(text)))
        }
        text.removeAll(keepingCapacity: true)
        size = 0
        isBlank = true
    }
}

let tooLarge = "The record has more than \(TransferLimits.recordSizeInBytes) bytes."
