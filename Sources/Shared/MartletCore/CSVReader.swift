/// Splits CSV (RFC 4180) into lines of cells.
///
/// The delimiter is given, or else the one of `,` `;` tab that occurs most often outside quotes in the first line. Line
/// ends are LF, CRLF or CR; quoted cells may contain line ends. Blank lines are skipped. A quote inside an unquoted
/// cell is text, as in spreadsheets. Text after a closing quote makes the line bad.
///
/// Buffers a single line. A line that exceeds the limits is reported as bad, and reading continues after it.
public struct CSVReader: Sendable {
    /// An entry of a line.
    public struct Cell: Sendable, Equatable {
        public var text: String
        public var isQuoted: Bool

        public init(text: String, isQuoted: Bool = false) {
            self.text = text
            self.isQuoted = isQuoted
        }
    }

    public struct Line: Sendable, Equatable {
        public enum Content: Sendable, Equatable {
            case cells([Cell])
            /// A line that was skipped, with the reason.
            case bad(String)
        }

        /// The line of the file on which it begins, from 1.
        public var number: Int
        public var content: Content
    }

    /// The first line is too long, so reading cannot continue.
    public struct Fault: Error, Equatable {
        public var line: Int
        public var reason: String
    }

    private static let delimiters: [UInt8] = [UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\t")]

    private enum Place {
        case cellStart, inPlain, inQuoted, afterQuote
    }

    /// The delimiter, once it is known.
    public private(set) var delimiter: UInt8?
    private let lineSizeInBytes: Int
    private let columns: Int
    /// The first line, buffered until the delimiter is known.
    private var head: [UInt8] = []
    private var place = Place.cellStart
    private var line = 1
    private var startLine = 1
    private var cells: [Cell] = []
    private var cell: [UInt8] = []
    private var isQuoted = false
    private var size = 0
    private var fault: String?
    private var didEndWithCR = false
    private var headQuotes = false
    private var byteOrderMark = ByteOrderMark()

    /// - Parameters:
    ///   - lineSizeInBytes: Maximum length of a line.
    ///   - columns: Maximum number of cells in a line.
    public init(delimiter: UInt8? = nil, lineSizeInBytes: Int, columns: Int) {
        self.delimiter = delimiter
        self.lineSizeInBytes = lineSizeInBytes
        self.columns = columns
    }

    /// Parses bytes and returns the lines that they complete.
    ///
    /// - Throws: `Fault` if the header exceeds the limit.
    public mutating func feed(_ bytes: some Sequence<UInt8>) throws(Fault) -> [Line] {
        var lines: [Line] = []
        for byte in bytes {
            if byteOrderMark.skips(byte) { continue }
            guard delimiter == nil else {
                take(byte, &lines)
                continue
            }
            head.append(byte)
            if byte == UInt8(ascii: "\"") { headQuotes.toggle() }
            let isEnd = !headQuotes && (byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r"))
            guard isEnd || head.count > lineSizeInBytes else { continue }
            guard head.count <= lineSizeInBytes else {
                throw Fault(line: 1, reason: "The header has more than \(lineSizeInBytes) bytes.")
            }
            replay(&lines)
        }
        return lines
    }

    /// Returns the last line. Call once, at the end.
    public mutating func finish() -> [Line] {
        var lines: [Line] = []
        if delimiter == nil { replay(&lines) }
        if place == .inQuoted { fault = "A quoted cell is not closed before the end of the file." }
        if size > 0 || !cells.isEmpty || isQuoted { endLine(&lines) }
        return lines
    }

    /// Chooses the delimiter by the buffered first line, and then parses that line.
    private mutating func replay(_ lines: inout [Line]) {
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
        for byte in bytes { take(byte, &lines) }
    }

    private mutating func take(_ byte: UInt8, _ lines: inout [Line]) {
        let isLineFeed = byte == UInt8(ascii: "\n")
        if didEndWithCR {
            didEndWithCR = false
            if isLineFeed { return }
        }
        if place == .inQuoted {
            size += 1
            if byte == UInt8(ascii: "\"") { return place = .afterQuote }
            if isLineFeed { line += 1 }
            return keep(byte)
        }
        switch byte {
        case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
            endLine(&lines)
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
        case UInt8(ascii: "\"") where place == .afterQuote:
            size += 1
            keep(byte)
            place = .inQuoted
        default:
            size += 1
            if place == .afterQuote {
                if byte != UInt8(ascii: " ") { fault = fault ?? "There is text after the closing quote of a cell." }
                return
            }
            place = .inPlain
            keep(byte)
        }
    }

    private mutating func keep(_ byte: UInt8) {
        if size <= lineSizeInBytes { cell.append(byte) }
    }

    private mutating func endCell() {
        if cells.count < columns {
            if let text = String(validating: cell, as: UTF8.self) {
                if text.utf8.contains(0) { fault = fault ?? "The character U+0000 cannot be stored." }
                cells.append(.init(text: text, isQuoted: isQuoted))
            } else {
                fault = fault ?? "A cell is not valid UTF-8."
                cells.append(.init(text: "", isQuoted: isQuoted))
            }
        } else {
            fault = "The line has more than \(columns) cells."
        }
        cell.removeAll(keepingCapacity: true)
        isQuoted = false
        place = .cellStart
    }

    private mutating func endLine(_ lines: inout [Line]) {
        let isBlank = size == 0
        endCell()
        if !isBlank {
            if size > lineSizeInBytes { fault = "The record has more than \(lineSizeInBytes) bytes." }
            lines.append(Line(number: startLine, content: fault.map { .bad($0) } ?? .cells(cells)))
        }
        cells.removeAll(keepingCapacity: true)
        size = 0
        fault = nil
    }
}
