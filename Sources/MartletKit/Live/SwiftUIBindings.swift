#if canImport(SwiftUI)
public import SwiftUI

// Not compiled on Linux, where this project is built and tested. The logic is in Following.

extension View {
    /// Keeps a value current while the view is shown: a live list, objects kept on the device, the configuration.
    ///
    /// ```swift
    /// @State private var events: [Stored<Event>] = []
    ///
    /// var body: some View {
    ///     List(events) { Text($0.title) }
    ///         .following(martlet.storage.objects(Event.query().order(by: \.title)), into: $events)
    /// }
    /// ```
    ///
    /// The sequence starts again whenever the view appears again. To follow another sequence, give the view another
    /// `id`.
    ///
    /// - Parameter failure: Called with the error that ended the sequence.
    public func following<Values: AsyncSequence & Sendable>(
        _ values: Values, into value: Binding<Values.Element>, failure: Binding<(any Error)?> = .constant(nil)
    ) -> some View where Values.Element: Sendable {
        task { await values.follow(show: { value.wrappedValue = $0 }, fail: { failure.wrappedValue = $0 }) }
    }
}

extension Color {
    public init(_ color: RemoteColor) {
        self.init(.sRGB, red: color.red, green: color.green, blue: color.blue, opacity: color.alpha)
    }
}
#endif
