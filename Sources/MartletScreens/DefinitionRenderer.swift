/// Shows definitions in a toolkit. Produces the output for one view at a time, starting with the innermost views.
///
/// ```swift
/// struct Outline: DefinitionRenderer {
///     func output(for node: DefinitionNode, contents: [String]) -> String {
///         ([node.kind + " " + node.text("text")] + contents).joined(separator: "\n")
///     }
/// }
/// print(Outline().render(screen.root))
/// ```
public protocol DefinitionRenderer {
    associatedtype Output

    /// The output for a view. The view's kind is built in, one of the app's, or
    /// ``DefinitionNode/placeholderKind``.
    ///
    /// - Parameter contents: The outputs for ``DefinitionNode/contents``.
    func output(for node: DefinitionNode, contents: [Output]) -> Output
}

extension DefinitionRenderer {
    public func render(_ node: DefinitionNode) -> Output {
        output(for: node, contents: node.contents.map { render($0) })
    }
}
