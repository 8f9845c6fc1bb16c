import HTTPTypes
import MartletCore
package import MartletHTTP

extension Events {
    package func addRoutes(to routes: inout RouteTable) {
        let intake = EventIntake(events: self)
        routes.section = .analytics
        // Segment's API, called with an ingest key.
        routes.on(TakeBatch.route, TakeBatch(intake: intake))
        routes.on(TakeBatch.segmentMobileBatch, TakeBatch(intake: intake))
        routes.on(TakeMessage.route, TakeMessage(kind: .identify, intake: intake))
        routes.on(TakeMessage.segmentTrack, TakeMessage(kind: .track, intake: intake))
        routes.on(TakeMessage.segmentScreen, TakeMessage(kind: .screen, intake: intake))
        routes.on(TakeMessage.segmentPage, TakeMessage(kind: .page, intake: intake))
        routes.on(TakeMessage.segmentGroup, TakeMessage(kind: .group, intake: intake))
        routes.on(TakeMessage.segmentAlias, TakeMessage(kind: .alias, intake: intake))
        // The short paths that analytics.js uses in browsers.
        routes.on(TakeMessage.segmentBrowserIdentify, TakeMessage(kind: .identify, intake: intake))
        routes.on(TakeMessage.segmentBrowserTrack, TakeMessage(kind: .track, intake: intake))
        routes.on(TakeMessage.segmentBrowserScreen, TakeMessage(kind: .screen, intake: intake))
        routes.on(TakeMessage.segmentBrowserPage, TakeMessage(kind: .page, intake: intake))
        routes.on(TakeMessage.segmentBrowserGroup, TakeMessage(kind: .group, intake: intake))
        routes.on(TakeMessage.segmentBrowserAlias, TakeMessage(kind: .alias, intake: intake))
        routes.on(ReadProjectSettings.route, ReadProjectSettings(events: self))
        // For the app itself.
        routes.on(TakeBatch.sendEvents, TakeBatch(intake: intake))
        routes.on(OptOutEndpoint.route, OptOutEndpoint(act: .read, events: self))
        routes.on(OptOutEndpoint.optOut, OptOutEndpoint(act: .optOut, events: self))
        routes.on(OptOutEndpoint.optIn, OptOutEndpoint(act: .optIn, events: self))
        routes.on(TakeTBAnalyticsEvent.route, TakeTBAnalyticsEvent(intake: intake))
        routes.on(ReadTBAnalyticsEvents.route, ReadTBAnalyticsEvents(events: self))
        // For staff and the app's own server.
        routes.on(ReadSettings.route, ReadSettings(events: self))
        routes.on(ChangeSettings.route, ChangeSettings(events: self))
    }
}
