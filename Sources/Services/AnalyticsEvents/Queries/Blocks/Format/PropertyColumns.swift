import MartletCore

/// Collects the properties of events of one name into a column per path.
struct PropertyColumns {
    /// Limits on the distinct values of a path, on the paths, and on the bits per event for the packed values of all
    /// paths. Questions about paths beyond these limits are answered from the events.
    static let maximumValues = 1_000
    static let maximumPaths = 64
    static let maximumBits = 32

    /// Placeholders in the column `path`: `*` stands for all top-level paths without a row, and `*.*` also for all
    /// paths below any other. With `*.*`, no question about a path is answered from the block.
    private static let all = ExactText("*"), allBelow = ExactText("*.*")

    fileprivate struct Column {
        var values = ExactTexts()
        /// The number of each event's value, 0 for none. Ends with the last event that has the path.
        var numbers: [UInt32] = []
        var isKept = true
    }

    private var columns: [ExactText: Column] = [:]
    /// Placeholders for paths that are not stored, as in `analytics.block_properties`.
    private var others: Set<ExactText> = []
    private var count = 0
    private var isComplete = true

    /// - Parameter properties: nil if they were beyond the limit and not read.
    mutating func add(_ properties: UnsafeRawBufferPointer?) {
        count += 1
        guard let properties else { return isComplete = false }
        let event = count
        PropertyScanner.scan(properties) { path, found in
            switch found {
            case .value(let value): change(path) { $0.add(value, event: event) }
            case .object: change(path) { $0.drop() }
            case .other where path == "*": others.insert(Self.all)
            case .other:
                change(path) { $0.drop() }
                others.insert(others.count < Self.maximumPaths ? ExactText(path + ".*") : Self.allBelow)
            }
        }
    }

    private mutating func change(_ path: String, _ body: (inout Column) -> Void) {
        let path = ExactText(path)
        guard columns.count < Self.maximumPaths || columns[path] != nil else {
            others.insert(Self.all)
            return
        }
        body(&columns[path, default: Column()])
    }

    /// Keeps the paths with the fewest values, while there are bits left. The content is nil for a path whose values
    /// are not stored.
    func contents() -> [(path: String, content: [UInt8]?)] {
        guard isComplete else { return [(Self.allBelow.text, nil)] }
        var bits = 0
        var contents: [(path: String, content: [UInt8]?)] = others.map { ($0.text, nil) }
        for (path, column) in columns.sorted(by: {
            ($0.value.values.texts.count, $0.key.text) < ($1.value.values.texts.count, $1.key.text)
        }) {
            let width = PackedNumbers.width(column.values.texts.count + 1)
            guard column.isKept, bits + width <= Self.maximumBits else {
                contents.append((path.text, nil))
                continue
            }
            bits += width
            let numbers = column.numbers + [UInt32](repeating: 0, count: count - column.numbers.count)
            contents.append((path.text, BlockColumn.content(column.values.texts, numbers: numbers)))
        }
        return contents
    }
}

extension PropertyColumns.Column {
    /// - Parameter event: The number of the event, from 1.
    fileprivate mutating func add(_ value: String, event: Int) {
        guard isKept else { return }
        if numbers.count < event - 1 { numbers.append(contentsOf: repeatElement(0, count: event - 1 - numbers.count)) }
        if let number = values.number(of: value, limit: PropertyColumns.maximumValues) {
            numbers.append(number)
        } else {
            drop()
        }
    }

    fileprivate mutating func drop() {
        (values, numbers, isKept) = (ExactTexts(), [], false)
    }
}
