# The service without stores: `docker build -t tracker .`. compose.yaml runs it with all that it needs.
# The base image is named by tag: no registry could be asked for its digest when this was written.
FROM python:3.11-slim-bookworm AS packages
COPY requirements.txt /
RUN python -m venv /opt/tracker \
    && /opt/tracker/bin/pip install --no-cache-dir --disable-pip-version-check \
        --only-binary :all: --require-hashes -r /requirements.txt

FROM python:3.11-slim-bookworm
# A fixed id, so that the owner of a mounted folder can be set before the first start.
RUN groupadd --system --gid 10001 tracker \
    && useradd --system --uid 10001 --gid tracker --no-create-home --shell /usr/sbin/nologin tracker \
    && install -d -o tracker -g tracker -m 0700 /data
COPY --from=packages /opt/tracker /opt/tracker
WORKDIR /srv/tracker
COPY run.py ./
COPY config config
COPY tracker tracker
COPY scripts scripts
RUN /opt/tracker/bin/python -m compileall -q run.py config tracker scripts
# Every role answers operators on one port: INTERNAL_PORT is that of web and all, METRICS_PORT of drain.
ENV PATH=/opt/tracker/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    ENV=production \
    HOST=0.0.0.0 \
    PORT=8080 \
    INTERNAL_PORT=9000 \
    METRICS_PORT=9000 \
    DATA_DIR=/data
USER 10001:10001
VOLUME /data
EXPOSE 8080 9000
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9000/livez', timeout=4)"]
CMD ["python", "run.py"]
