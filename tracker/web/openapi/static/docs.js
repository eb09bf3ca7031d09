// Starts Swagger UI on the description of this service. Nothing is asked of any other host: what is
// tried out goes to where this page comes from, whatever the public address is. On a port of its own
// (INTERNAL_PORT), where the API does not answer, nothing can be tried out.
const apiAnswersHere = document.getElementById("swagger-ui").dataset.api === "here";
fetch("openapi.json")
  .then((answer) => answer.json())
  .then((spec) => {
    if (apiAnswersHere) {
      spec.servers = [{ url: new URL(".", location.href).href.replace(/\/$/, "") }];
    }
    SwaggerUIBundle({
      spec,
      dom_id: "#swagger-ui",
      deepLinking: true,
      displayRequestDuration: true,
      docExpansion: "list",
      defaultModelsExpandDepth: 0,
      validatorUrl: null,
      supportedSubmitMethods: apiAnswersHere ? ["get", "post", "patch", "delete", "head", "options"] : [],
    });
  });
