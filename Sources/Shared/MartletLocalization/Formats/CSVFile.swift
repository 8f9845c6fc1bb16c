import MartletCore

/// CSV (RFC 4180) with one line per unit. The column `key` contains the key and path (`UnitPath`); each language has
/// one column for its texts and one for their states (`de`, `de:state`). The columns `comment`, `translate`, `origin`,
/// `markup` and `extraction` are filled only in the first line of each key.
///
/// An empty cell means no text; a quoted empty cell is an empty text. Cells that a spreadsheet would run as formulas
/// start with an apostrophe (`FormulaGuard`), which is removed when reading.
enum CSVFile {
    private enum Column: Equatable {
        case key, comment, translate, origin, markup, extraction
        case text(LanguageTag)
        case state(LanguageTag)

        var name: String {
            switch self {
            case .text(let language): language.text
            case .state(let language): language.text + ":state"
            default: "\(self)"
            }
        }
    }

    private static let fixed: [Column] = [.key, .comment, .translate, .origin, .markup, .extraction]

    static func write(_ catalogue: Catalogue, _ options: CatalogueFormat.Options) -> CatalogueFormat.Export {
        let others = (options.language.map { [$0] } ?? catalogue.allLanguages.sorted()).filter {
            $0 != catalogue.sourceLanguage
        }
        let columns = fixed + ([catalogue.sourceLanguage] + others).flatMap { [.text($0), .state($0)] }
        var text = line(columns.map { cell($0.name) })
        for entry in catalogue.entries {
            let localizations = ([catalogue.sourceLanguage] + others).compactMap { entry.localizations[$0] }
            var paths: [UnitPath] = []
            for path in localizations.flatMap({ $0.units(withArguments: true).map(\.path) }) where !paths.contains(path)
            { paths.append(path) }
            for (number, path) in (paths.isEmpty ? [.whole] : paths).enumerated() {
                text += line(columns.map { cell($0, entry, path, isFirst: number == 0) })
            }
        }
        return .init(bytes: Array(text.utf8))
    }

    private static func cell(_ column: Column, _ entry: Entry, _ path: UnitPath, isFirst: Bool) -> String {
        switch column {
        case .key: return cell(path.joined(to: entry.key))
        case .comment: return isFirst ? entry.comment.map(cell) ?? "" : ""
        case .translate: return isFirst && !entry.shouldTranslate ? "no" : ""
        case .origin: return isFirst ? entry.origin.map(cell) ?? "" : ""
        case .markup: return isFirst && entry.isMarkup ? "yes" : ""
        case .extraction: return isFirst ? entry.extractionState.map(cell) ?? "" : ""
        case .text(let language): return unit(entry, language, path).map { cell($0.value) } ?? ""
        case .state(let language): return path.isArgument ? "" : unit(entry, language, path)?.state.rawValue ?? ""
        }
    }

    private static func unit(_ entry: Entry, _ language: LanguageTag, _ path: UnitPath) -> Unit? {
        entry.localizations[language]?.units(withArguments: true).first { $0.path == path }?.unit
    }

    private static func line(_ cells: [String]) -> String { cells.joined(separator: ",") + "\r\n" }

    /// Always quoted, to preserve whitespace, line breaks and empty texts.
    private static func cell(_ text: String) -> String { FormulaGuard.added(to: text).enclosed(in: "\"") }

    static func read(_ bytes: [UInt8], _ options: CatalogueFormat.Options) throws -> Catalogue {
        var reader = CSVReader(
            lineSizeInBytes: LocalizationLimits.documentSizeInBytes,
            columns: fixed.count + 2 * LocalizationLimits.languages)
        let text = Array(try TextEncoding.text(of: bytes).utf8)
        var table: CSVTable?
        // Lines are processed piece by piece, so that a file beyond the limits is refused before all of it is in
        // memory.
        for start in stride(from: 0, to: text.count + 1, by: pieceSizeInBytes) {
            let end = min(start + pieceSizeInBytes, text.count)
            for line in try lines(&reader, text[start..<end], isLast: end == text.count) {
                if table == nil {
                    table = CSVTable(
                        catalogue: Catalogue(sourceLanguage: options.sourceLanguage), columns: try columns(line))
                } else {
                    try table?.add(line, try cells(line))
                }
            }
            if end == text.count { break }
        }
        guard var read = table else { throw LocalizationFault("", "The file is empty.") }
        return try read.finished()
    }

    private static let pieceSizeInBytes = 64 << 10

    private static func lines(_ reader: inout CSVReader, _ piece: ArraySlice<UInt8>, isLast: Bool) throws -> [CSVReader
        .Line]
    {
        do throws(CSVReader.Fault) {
            return try reader.feed(piece) + (isLast ? reader.finish() : [])
        } catch {
            throw LocalizationFault("line \(error.line)", error.reason)
        }
    }

    private static func columns(_ header: CSVReader.Line) throws -> [Column] {
        let columns = try cells(header).map { cell -> Column in
            if let column = fixed.first(where: { $0.name == cell.text }) { return column }
            let parts = cell.text.components(between: ":")
            let language = try tag(parts[0], at: "line 1")
            guard parts.count == 1 || (parts.count == 2 && parts[1] == "state") else {
                throw LocalizationFault("line 1", "The column \"\(cell.text.prefix(64))\" is unknown.")
            }
            return parts.count == 1 ? .text(language) : .state(language)
        }
        guard columns.contains(.key) else { throw LocalizationFault("line 1", "There is no column \"key\".") }
        for column in columns where columns.count(where: { $0 == column }) > 1 {
            throw LocalizationFault("line 1", "The column \(column.name) occurs twice.")
        }
        return columns
    }

    private static func cells(_ line: CSVReader.Line) throws -> [CSVReader.Cell] {
        switch line.content {
        case .bad(let reason): throw LocalizationFault("line \(line.number)", reason)
        case .cells(let cells):
            return cells.map { .init(text: FormulaGuard.removed(from: $0.text), isQuoted: $0.isQuoted) }
        }
    }

    /// Collects lines into a catalogue.
    private struct CSVTable {
        var catalogue: Catalogue
        let columns: [Column]
        private var units: [LanguageTag: UnitTable] = [:]
        private var count = 0

        init(catalogue: Catalogue, columns: [Column]) {
            self.catalogue = catalogue
            self.columns = columns
        }

        mutating func add(_ line: CSVReader.Line, _ cells: [CSVReader.Cell]) throws {
            let place = "line \(line.number)"
            guard cells.count <= columns.count else {
                throw LocalizationFault(place, "There are more cells than columns.")
            }
            func text(_ column: Column) -> String? {
                guard let index = columns.firstIndex(of: column), index < cells.count else { return nil }
                return cells[index].text.isEmpty && !cells[index].isQuoted ? nil : cells[index].text
            }
            guard let (key, path) = text(.key).flatMap(UnitPath.split), !key.isEmpty else {
                throw LocalizationFault(place, "The key is missing, or its path is unknown.")
            }
            var entry = catalogue[key] ?? Entry(key)
            entry.comment = text(.comment) ?? entry.comment
            entry.origin = text(.origin) ?? entry.origin
            entry.extractionState = text(.extraction) ?? entry.extractionState
            if text(.translate) == "no" { entry.shouldTranslate = false }
            if text(.markup) == "yes" { entry.isMarkup = true }
            catalogue[key] = entry
            guard catalogue.entries.count <= LocalizationLimits.keys else {
                throw LocalizationFault(place, "There may be at most \(LocalizationLimits.keys) keys.")
            }
            for (index, column) in columns.prefix(cells.count).enumerated() {
                guard case .text(let language) = column, !cells[index].text.isEmpty || cells[index].isQuoted else {
                    continue
                }
                let value = cells[index].text
                guard let state = Unit.State(rawValue: text(.state(language))?.nonEmpty ?? "translated") else {
                    throw LocalizationFault(place, "The state must be new, translated or needs_review.")
                }
                count += 1
                guard count <= LocalizationLimits.texts else {
                    throw LocalizationFault(
                        place,
                        "There are more texts than a document of \(LocalizationLimits.documentSizeInBytes) bytes can hold."
                    )
                }
                try units[language, default: UnitTable()].add(key, path, Unit(value, state), at: place)
            }
        }

        mutating func finished() throws -> Catalogue {
            for (language, table) in units { try table.addLocalizations(in: language, to: &catalogue) }
            return catalogue
        }
    }
}
