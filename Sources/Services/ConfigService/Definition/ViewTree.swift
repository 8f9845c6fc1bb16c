import MartletAPI
import MartletCore

/// The nesting of views after every name is replaced by its view. Checks that it is finite, how deep it is, and how
/// many views it contains.
struct ViewTree {
    static let maximumDepth = 32
    static let maximumViews = 10_000

    private struct Measure {
        var depth = 1
        var views = 1

        mutating func add(_ inner: Measure) {
            depth = max(depth, inner.depth + 1)
            views = min(views + inner.views, ViewTree.maximumViews + 1)
        }
    }

    private let app: AppDefinition
    private var known: [String: Measure] = [:]
    private var ancestors: [String] = []
    private var findings: [Finding] = []

    init(_ app: AppDefinition) {
        self.app = app
    }

    mutating func check() -> [Finding] {
        for view in app.views {
            let measure = measure(named: view.name)
            let path = "/views/" + JSONPointer.escape(view.name)
            if measure.depth > Self.maximumDepth {
                findings.append(
                    Finding(
                        .error, "too-deep", at: path,
                        "Views may be nested at most \(Self.maximumDepth) levels deep, including the views they name."))
            }
            if measure.views > Self.maximumViews {
                findings.append(
                    Finding(
                        .error, "too-many-views", at: path,
                        "A view may contain at most \(Self.maximumViews) other views."
                    ))
            }
        }
        return findings
    }

    private mutating func measure(named name: String) -> Measure {
        if let known = known[name] { return known }
        guard let view = app.view(name) else { return Measure() }
        if let start = ancestors.firstIndex(of: name) {
            let cycle = (ancestors[start...] + [name]).joined(separator: " → ")
            findings.append(
                Finding(
                    .error, "cycle", at: "/views/" + JSONPointer.escape(name), "This view contains itself: \(cycle)."))
            return Measure()
        }
        // A longer chain of names already exceeds the maximum depth.
        guard ancestors.count <= Self.maximumDepth else { return Measure(depth: Self.maximumDepth + 1) }
        ancestors.append(name)
        let measure = measure(view)
        ancestors.removeLast()
        known[name] = measure
        return measure
    }

    private mutating func measure(_ view: JSONValue) -> Measure {
        var measure = Measure()
        let contents: [JSONValue] =
            switch view["contents"] {
            case .array(let elements)?: elements
            case .object(let members)?: members.map(\.value)
            default: []
            }
        let row: [JSONValue] =
            if case .string(let name)? = view["row_view"], !name.hasPrefix("@") { [.string(name)] } else { [] }
        let fallback: [JSONValue] =
            if let fallback = view["fallback"], fallback != .string("drop") { [fallback] } else { [] }
        for inner in contents + row + fallback {
            switch inner {
            case .string(let name): measure.add(self.measure(named: name))
            case .object: measure.add(self.measure(inner))
            default: break
            }
        }
        return measure
    }
}
