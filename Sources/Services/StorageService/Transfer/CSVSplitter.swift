/// Cuts CSV (RFC 4180) into lines of cells.
///
/// The delimiter is given, or the one of `,` `;` tab that stands most often in the first line outside of quotes. Line ends are LF, CRLF or CR;
/// quoted cells may hold line ends. Blank lines are skipped. A quote inside an unquoted cell is text, as spreadsheets have it;
/// text behind a closing quote is a bad record.
struct CSVSplitter: RecordSplitter {
    static let delimiters: [UInt8] = [UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\t")]

    private enum Place {
        case cellStart, inPlain, inQuoted, behindQuote
    }

    private(set) var delimiter: UInt8?
    /// The first line, until the delimiter is known.
    private var head: [UInt8] = []
    private var place = Place.cellStart
    private var line = 1
    private var startLine = 1
    private var cells: [RawRecord.Cell] = []
    private var cell: [UInt8] = []
    private var isQuoted = false
    private var size = 0
    private var fault: String?
    private var didEndWithCR = false
    private var headQuotes = false
    private var byteOrderMark = ByteOrderMark()

    init(delimiter: UInt8? = nil) {
        self.delimiter = delimiter
    }

    mutating func feed(_ bytes: some Sequence<UInt8>) throws(FileFault) -> [RawRecord] {
        var records: [RawRecord] = []
        for byte in bytes {
            if byteOrderMark.skips(byte) { continue }
            guard delimiter == nil else {
                take(byte, &records)
                continue
            }
            head.append(byte)
            if byte == UInt8(ascii: "\"") { headQuotes.toggle() }
            let isEnd = !headQuotes && (byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r"))
            guard isEnd || head.count > TransferLimits.recordSizeInBytes else { continue }
            guard head.count <= TransferLimits.recordSizeInBytes else {
                throw FileFault(line: 1, reason: "The header has more than \(TransferLimits.recordSizeInBytes) bytes.")
            }
            replay(&records)
        }
        return records
    }

    mutating func finish() throws(FileFault) -> [RawRecord] {
        var records: [RawRecord] = []
        if delimiter == nil { replay(&records) }
        if place == .inQuoted { fault = "The quote of a cell is not closed before the file ends." }
        if size > 0 || !cells.isEmpty || isQuoted { endLine(&records) }
        return records
    }

    private mutating func replay(_ records: inout [RawRecord]) {
        var counts = [Int](repeating: 0, count: Self.delimiters.count)
        var isInQuotes = false
        for byte in head {
            if byte == UInt8(ascii: "\"") { isInQuotes.toggle() }
            if !isInQuotes, let index = Self.delimiters.firstIndex(of: byte) { counts[index] += 1 }
        }
        let most = counts.max() ?? 0
        delimiter = Self.delimiters[counts.firstIndex(of: most) ?? 0]
        let bytes = head
        head = []
        for byte in bytes { take(byte, &records) }
    }

    private mutating func take(_ byte: UInt8, _ records: inout [RawRecord]) {
        let isLineFeed = byte == UInt8(ascii: "\n")
        if didEndWithCR {
            didEndWithCR = false
            if isLineFeed { return }
        }
        if place == .inQuoted {
            size += 1
            if byte == UInt8(ascii: "\"") { return place = .behindQuote }
            if isLineFeed { line += 1 }
            return keep(byte)
        }
        switch byte {
        case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
            endLine(&records)
            didEndWithCR = !isLineFeed
            line += 1
            startLine = line
        case delimiter:
            size += 1
            endCell()
        case UInt8(ascii: "\"") where place == .cellStart:
            size += 1
            isQuoted = true
            place = .inQuoted
        case UInt8(ascii: "\"") where place == .behindQuote:
            size += 1
            keep(byte)
            place = .inQuoted
        default:
            size += 1
            if place == .behindQuote {
                if byte != UInt8(ascii: " ") { fault = fault ?? "There is text behind the closing quote of a cell." }
                return
            }
            place = .inPlain
            keep(byte)
        }
    }

    private mutating func keep(_ byte: UInt8) {
        if size <= TransferLimits.recordSizeInBytes { cell.append(byte) }
    }

    private mutating func endCell() {
        if cells.count < TransferLimits.columns {
            if let text = String(validating: cell, as: UTF8.self) {
                if text.utf8.contains(0) { fault = fault ?? "The character U+0000 cannot be stored." }
                cells.append(.init(text: text, isQuoted: isQuoted))
            } else {
                fault = fault ?? "A cell is not UTF-8."
                cells.append(.init(text: "", isQuoted: isQuoted))
            }
        } else {
            fault = "The line has more than \(TransferLimits.columns) cells."
        }
        cell.removeAll(keepingCapacity: true)
        isQuoted = false
        place = .cellStart
    }

    private mutating func endLine(_ records: inout [RawRecord]) {
        let isBlank = size == 0
        endCell()
        if !isBlank {
            if size > TransferLimits.recordSizeInBytes { fault = tooLarge }
            records.append(RawRecord(line: startLine, content: fault.map { .bad($0) } ?? .cells(cells)))
        }
        cells.removeAll(keepingCapacity: true)
        size = 0
        fault = nil
    }
}
