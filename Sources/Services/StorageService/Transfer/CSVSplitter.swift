import MartletCore

/// Splits CSV into records, one per line.
struct CSVSplitter: RecordSplitter {
    private var reader: CSVReader

    init(delimiter: UInt8? = nil) {
        reader = CSVReader(
            delimiter: delimiter, lineSizeInBytes: TransferLimits.recordSizeInBytes, columns: TransferLimits.columns)
    }

    var delimiter: UInt8? { reader.delimiter }

    mutating func feed(_ bytes: some Sequence<UInt8>) throws(FileFault) -> [RawRecord] {
        do throws(CSVReader.Fault) {
            return try reader.feed(bytes).map(RawRecord.init)
        } catch {
            throw FileFault(line: error.line, reason: error.reason)
        }
    }

    mutating func finish() throws(FileFault) -> [RawRecord] { reader.finish().map(RawRecord.init) }
}

extension RawRecord {
    fileprivate init(_ line: CSVReader.Line) {
        self.line = line.number
        content =
            switch line.content {
            case .cells(let cells): .cells(cells)
            case .bad(let reason): .bad(reason)
            }
    }
}
